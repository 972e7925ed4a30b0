"""The reading side of embedded topics, record by record."""

from __future__ import annotations

from collections.abc import Iterator

from kstreams.connection import RawRecord
from kstreams.embedded.log import EmbeddedLog
from kstreams.embedded.segment import Segment

__all__ = ("EmbeddedReader",)


class EmbeddedReader:
    """
    Implements `kstreams.connection.TopicReader` on a log.

    Args:
        log: The topics.
    """

    def __init__(self, log: EmbeddedLog) -> None:
        self._log = log

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[RawRecord]:
        """
        Yield records with `start <= offset < end` in offset order, without waiting.

        What is appended after the call is not seen. Holds one segment in memory.

        Raises:
            UnknownTopicError: At the call: there is no such topic, or no such partition.
            CorruptSegmentError: While iterating: a file is damaged.
        """
        return self._records(self._log.segments(topic, partition, start), start, end)

    def _records(self, segments: tuple[Segment, ...], start: int, end: int) -> Iterator[RawRecord]:
        for segment in segments:
            if segment.first_offset >= end:
                return
            table = self._log.read(segment, start, end)
            columns = (table.column(name).to_pylist() for name in table.column_names)
            for offset, timestamp, key, value, headers in zip(*columns, strict=True):
                pairs = tuple((h["key"], h["value"]) for h in headers) if headers else ()
                yield RawRecord(
                    segment.topic, segment.partition, offset, timestamp, key, value, pairs
                )

    def close(self) -> None:
        """Do nothing: no connection is held."""
