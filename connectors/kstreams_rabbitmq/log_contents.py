"""The contents of RabbitMQ streams, as the driver reads them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from kstreams.errors import DataLossError, TopicRecreatedError
from kstreams.sources import Piece
from kstreams_rabbitmq.address import NotYetError, RefusedError
from kstreams_rabbitmq.places import Places
from kstreams_rabbitmq.session import OffsetType

__all__ = ("StreamContents",)


class StreamContents:
    """Implements `kstreams.sources.LogContents`.

    Args:
        places: The sessions; closed with this object.
        name: The name of the stream.
        look_every_s: The interval between polls for messages, in seconds.
        divided: Whether the name is the name of a super stream.
    """

    def __init__(self, places: Places, name: str, look_every_s: float, *, divided: bool) -> None:
        self._places = places
        self._name = name
        self._look_every_s = look_every_s
        self._divided = divided
        self._known: list[str] = [] if divided else [name]
        self._marks: list[str] = []
        self._reached: dict[int, int] = {}

    @property
    def log_id(self) -> str:
        """The marks of all streams (see `Places.mark`); empty while a stream has no message.

        Raises:
            SourceUnavailableError: The broker does not answer.
            SourceError: The broker rejects the request.
        """
        self._marks = self._places.retried(self._looked_at)
        return "-".join(self._marks) if all(self._marks) else ""

    @property
    def look_every_s(self) -> float:
        """The interval between polls for messages, in seconds."""
        return self._look_every_s

    def beginnings(self) -> dict[int, int]:
        """Return the first existing offset, by partition."""
        return self._places.retried(
            lambda: {n: self._beginning(each) for n, each in enumerate(self._streams())}
        )

    def ends(self) -> dict[int, int]:
        """Return the offset after the last message, by partition.

        Raises:
            TopicRecreatedError: A stream was deleted and created again.
            DataLossError: A stream has lost its last messages. While a leader starts this can be
                temporary, so the stream is checked again first.
        """
        return self._places.retried(self._ends)

    def first_since(self, partition: int, timestamp_ms: int) -> tuple[int, int] | None:
        """Return offset and time (ms) of the first chunk not before a time; None without one."""

        def work() -> tuple[int, int] | None:
            stream = self._streams()[partition]
            place = OffsetType.FIRST if timestamp_ms <= 0 else OffsetType.TIMESTAMP
            since = None if timestamp_ms <= 0 else timestamp_ms
            with closing(self._places.session(stream).chunks(stream, place, since)) as chunks:
                for chunk in chunks:
                    if chunk.timestamp >= timestamp_ms:
                        return chunk.chunk_first_offset, chunk.timestamp
            last = self._places.session(stream).chunk(stream, OffsetType.LAST)
            if last is None:
                is_behind = self._reached.get(partition, 0) > 0
            else:
                is_behind = last.timestamp >= timestamp_ms
            if is_behind:
                raise RefusedError(
                    "StreamNotAvailable", f"stream {stream!r} does not return its last messages yet"
                )
            return None

        return self._places.retried(work)

    def pieces(self, partition: int, start: int, stop: int) -> Iterable[Piece]:
        """Return one `Piece` with all offsets; its `place` is the stream's `Places.mark` and name.

        Returns no piece if the range is empty.
        """
        if start >= stop:
            return []
        stream = self._places.retried(self._streams)[partition]
        mark = self._marks[partition] if self._marks else ""
        return [Piece(partition, start, stop, f"{mark}/{stream}")]

    def mean_bytes(self, partition: int, offset: int) -> float | None:
        """Return the mean bytes per message of the chunk at an offset; None without one."""

        def work() -> float | None:
            stream = self._streams()[partition]
            found = self._places.session(stream).chunk(stream, OffsetType.OFFSET, offset)
            return None if found is None else found.data_length / max(found.num_records, 1)

        return self._places.retried(work)

    def close(self) -> None:
        """Close the connections."""
        self._places.close()

    def _ends(self) -> dict[int, int]:
        found = {n: self._places.end(each) for n, each in enumerate(self._streams())}
        if self._marks:
            before, self._marks = self._marks, self._looked_at()
            for old, new in zip(before, self._marks, strict=True):
                if old and old != new:
                    raise self._made_anew(old, new)
        for n, end in found.items():
            if end < self._reached.get(n, 0):
                said = f"partition {n} of stream {self._name!r} ended at offset {self._reached[n]}"
                raise NotYetError(
                    DataLossError(
                        f"{said}, and ends at offset {end} now", hint=DataLossError.WAY_ON
                    )
                )
        self._reached = found
        return found

    def _looked_at(self) -> list[str]:
        """Return the current mark of each stream; see `Places.mark`.

        Raises:
            NotYetError: A stream has no mark any more; this may pass while its leader starts.
        """
        found = [self._places.mark(each) for each in self._streams()]
        for old, new in zip(self._marks, found, strict=False):  # none are known before
            if old and not new:
                raise NotYetError(self._made_anew(old, new))
        return found

    def _made_anew(self, old: str, new: str) -> TopicRecreatedError:
        return TopicRecreatedError(
            f"stream {self._name!r} was deleted and created again",
            expected=old,
            found=new,
            hint="reset the app: its positions belong to deleted messages.",
        )

    def _streams(self) -> list[str]:
        if not self._known:
            self._known = self._places.streams_of(self._name)
        return self._known

    def _beginning(self, stream: str) -> int:
        first = self._places.beginning(stream)
        return 0 if first is None else first.chunk_first_offset
