"""The `TopicReader` of embedded topics."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kstreams.connection import RawRecord
from kstreams.embedded.log import EmbeddedLog
from kstreams.embedded.segment import Segment
from kstreams.raw_batch import headers_of
from kstreams.serde.objects import objects_of

__all__ = ("EmbeddedReader",)


class EmbeddedReader:
    """Implements `kstreams.connection.TopicReader` on a log.

    Args:
        log: The embedded topics.
    """

    def __init__(self, log: EmbeddedLog) -> None:
        self._log = log

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[RawRecord]:
        """Yield records with `start <= offset < end` in offset order, without waiting.

        Records appended after the call are not read. One segment at a time is in memory.

        Raises:
            UnknownTopicError: At the call: the topic or the partition does not exist.
            CorruptSegmentError: While iterating: a file is damaged.
        """
        return self._records(self._log.segments(topic, partition, start), start, end)

    def _records(self, segments: tuple[Segment, ...], start: int, end: int) -> Iterator[RawRecord]:
        for segment in segments:
            if segment.first_offset >= end:
                return
            topic, partition = segment.topic, segment.partition
            table = self._log.read(segment, start, end)
            names = ("offset", "timestamp", "key", "value")
            columns = [objects_of(table.column(name)) for name in names]
            headers = headers_of(table.column("headers"))
            yield from map(partial(RawRecord, topic, partition), *columns, headers)

    def close(self) -> None:
        """Do nothing: no connection is held."""
