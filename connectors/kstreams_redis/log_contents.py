"""The contents of Redis streams, as the driver reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from kstreams.errors import TopicRecreatedError
from kstreams.sources import Piece
from kstreams_redis.numbering import EntryId, Numbers, look, numbers_at
from kstreams_redis.server import Server

__all__ = ("StreamContents",)

_SAMPLE = 20


class StreamContents:
    """Implements `kstreams.sources.LogContents`.

    Args:
        server: The server of the streams; closed with this object.
        streams: The keys of the streams, one per partition.
        index: The key prefix of the hashes with the numbers of entries.
        look_every_s: The interval between polls for entries, in seconds.
    """

    def __init__(
        self, server: Server, streams: Sequence[str], index: str, look_every_s: float
    ) -> None:
        self._server = server
        self._streams = streams
        self._index = index
        self._look_every_s = look_every_s
        self._known: list[Numbers] = []

    @property
    def log_id(self) -> str:
        """The id of the log, made of the numbering ids of all streams; see `Numbers.log_id`.

        Raises:
            SourceError: The server does not allow the app to number the entries.
        """
        known = self._known or self._look()
        return known[0].log_id if len(known) == 1 else _joined([each.log_id for each in known])

    @property
    def look_every_s(self) -> float:
        """The interval between polls for entries, in seconds."""
        return self._look_every_s

    def beginnings(self) -> dict[int, int]:
        """Return the offset of the first existing entry, by partition."""
        known = self._known or self._look()
        return {partition: self._beginning(partition, each) for partition, each in enumerate(known)}

    def ends(self) -> dict[int, int]:
        """Assign numbers to new entries, and return the offset after the last, by partition.

        Raises:
            TopicRecreatedError: A stream was deleted and created again.
        """
        before = self.log_id if self._known else ""
        self._look()
        if before and before != self.log_id:
            raise TopicRecreatedError(
                f"a stream of {', '.join(self._streams)} was deleted and created again, or "
                "restored from a copy",
                expected=before,
                found=self.log_id,
                hint="reset the app: its positions belong to deleted entries.",
            )
        return {partition: each.stop for partition, each in enumerate(self._known)}

    def first_since(self, partition: int, timestamp_ms: int) -> tuple[int, int] | None:
        """Return offset and time (ms) of the first entry not before a time; None without one."""
        known = (self._known or self._look())[partition]
        first = EntryId(max(timestamp_ms, 0), 0)

        def work() -> tuple[int, int] | None:
            entries = self._server.command(
                "XRANGE", self._streams[partition], str(first), "+", "COUNT", 1
            )
            if not entries:
                return None
            found = EntryId.of(entries[0][0])
            number = self._number(partition, known, found)
            return None if number is None else (known.offset(number), found.ms)

        return self._server.retried(work)

    def pieces(self, partition: int, start: int, stop: int) -> Iterable[Piece]:
        """Return one `Piece` with all offsets; its `place` is the id of the stream's numbering.

        Returns no piece if the range is empty.
        """
        if start >= stop:
            return []
        return [Piece(partition, start, stop, (self._known or self._look())[partition].log_id)]

    def mean_bytes(self, partition: int, offset: int) -> float | None:
        """Return the mean bytes of the first entries from an offset on; None without any."""
        known = (self._known or self._look())[partition]
        number = known.number(offset)

        def work() -> float | None:
            _, ids = numbers_at(self._server, self._key(partition), number, number + 1)
            if not ids or ids[0] is None:
                return None
            entries = self._server.command(
                "XRANGE", self._streams[partition], str(ids[0]), "+", "COUNT", _SAMPLE
            )
            sizes = [sum(map(len, fields)) for _, fields in entries if fields]
            return sum(sizes) / len(sizes) if sizes else None

        return self._server.retried(work)

    def close(self) -> None:
        """Close the connection."""
        self._server.close()

    def _key(self, partition: int) -> str:
        return self._index + self._streams[partition]

    def _look(self) -> list[Numbers]:
        self._known = self._server.retried(
            lambda: [
                look(self._server, stream, self._key(partition))
                for partition, stream in enumerate(self._streams)
            ]
        )
        return self._known

    def _beginning(self, partition: int, known: Numbers) -> int:
        if known.head is None:
            return known.stop
        head = known.head
        number = self._server.retried(lambda: self._number(partition, known, head))
        return known.stop if number is None else known.offset(number)

    def _number(self, partition: int, known: Numbers, found: EntryId) -> int | None:
        """Return the number of a stream's first entry from an id on; None without one.

        Args:
            partition: The partition of the stream.
            known: The numbering of the stream.
            found: The id at which the search starts.
        """
        low, high = known.first, known.count
        while low < high:
            middle = (low + high) // 2
            _, ids = numbers_at(self._server, self._key(partition), middle, middle + 1)
            each = ids[0] if ids else None
            if each is None or each < found:
                low = middle + 1
            else:
                high = middle
        return low if low < known.count else None


def _joined(ids: Sequence[str]) -> str:
    return sha256("/".join(ids).encode()).hexdigest()[:32]
