"""What streams of RabbitMQ hold, as the driver sees it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from kstreams.errors import TopicRecreatedError
from kstreams.sources import Piece
from kstreams_rabbitmq.places import Places
from kstreams_rabbitmq.session import OffsetType

__all__ = ("StreamContents",)


class StreamContents:
    """Implements `kstreams.sources.LogContents`.

    Args:
        places: Where streams are; closed with this.
        name: Of the stream.
        look_every_s: How often to look for messages, in seconds.
        divided: Whether the name is that of a super stream.
    """

    def __init__(self, places: Places, name: str, look_every_s: float, *, divided: bool) -> None:
        self._places = places
        self._name = name
        self._look_every_s = look_every_s
        self._divided = divided
        self._known: list[str] = [] if divided else [name]
        self._marks: list[str] = []

    @property
    def log_id(self) -> str:
        """The marks of all streams; empty while one has no message.

        Raises:
            SourceUnavailableError: The broker does not answer.
            SourceError: It refuses.
        """
        marks = self._places.retried(lambda: [self._places.mark(each) for each in self._streams()])
        self._marks = marks
        return "-".join(marks) if all(marks) else ""

    @property
    def look_every_s(self) -> float:
        """How often to look for messages, in seconds."""
        return self._look_every_s

    def beginnings(self) -> dict[int, int]:
        """Return the first offset that is there, by partition."""
        return self._places.retried(
            lambda: {n: self._beginning(each) for n, each in enumerate(self._streams())}
        )

    def ends(self) -> dict[int, int]:
        """Return the offset after the last message, by partition.

        Raises:
            TopicRecreatedError: A stream was deleted and made anew.
        """
        before = list(self._marks)
        found = self._places.retried(
            lambda: {n: self._places.end(each) for n, each in enumerate(self._streams())}
        )
        if before:
            _ = self.log_id
            for old, new in zip(before, self._marks, strict=True):
                if old and old != new:
                    raise TopicRecreatedError(
                        f"stream {self._name!r} was deleted and made anew",
                        expected=old,
                        found=new,
                        hint="reset the app: its positions are of messages that are gone.",
                    )
        return found

    def first_since(self, partition: int, timestamp_ms: int) -> tuple[int, int] | None:
        """Return offset and time of the first chunk that is not before a time."""

        def work() -> tuple[int, int] | None:
            stream = self._streams()[partition]
            place = OffsetType.FIRST if timestamp_ms <= 0 else OffsetType.TIMESTAMP
            since = None if timestamp_ms <= 0 else timestamp_ms
            with closing(self._places.session(stream).chunks(stream, place, since)) as chunks:
                for chunk in chunks:
                    if chunk.timestamp >= timestamp_ms:
                        return chunk.chunk_first_offset, chunk.timestamp
            return None

        return self._places.retried(work)

    def pieces(self, partition: int, start: int, stop: int) -> Iterable[Piece]:
        """Return one piece, which says of which stream."""
        if start >= stop:
            return []
        stream = self._places.retried(self._streams)[partition]
        mark = self._marks[partition] if self._marks else ""
        return [Piece(partition, start, stop, f"{mark}/{stream}")]

    def mean_bytes(self, partition: int, offset: int) -> float | None:
        """Return the mean of a chunk from an offset on."""

        def work() -> float | None:
            stream = self._streams()[partition]
            found = self._places.session(stream).chunk(stream, OffsetType.OFFSET, offset)
            return None if found is None else found.data_length / max(found.num_records, 1)

        return self._places.retried(work)

    def close(self) -> None:
        """Close the connections."""
        self._places.close()

    def _streams(self) -> list[str]:
        if not self._known:
            self._known = self._places.streams_of(self._name)
        return self._known

    def _beginning(self, stream: str) -> int:
        first = self._places.beginning(stream)
        return 0 if first is None else first.chunk_first_offset
