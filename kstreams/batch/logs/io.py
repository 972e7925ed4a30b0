"""Logs on Spark: read by the tasks, beside the topics of a connection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa

from kstreams.batch.topic_io import TopicIO
from kstreams.checkpoint.plans import Slice
from kstreams.errors import KStreamsError
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TopicPartition
from kstreams.log import Log, LogReader, Piece
from kstreams.raw_batch import INPUT_SCHEMA, NO_LIMIT, ORIGIN, UNREADABLE, TooManyBytesError
from kstreams.state.log.commits import Output
from kstreams.task.outputs import TaskOutput
from kstreams.task.queues import Queue
from kstreams.topic_limits import TopicLimits

__all__ = ("LogIO",)


@dataclass(frozen=True)
class LogIO:
    """A `TopicIO` that reads logs, and leaves topics to another.

    Args:
        others: Reads and writes topics.
        logs: By name.
    """

    others: TopicIO
    logs: Mapping[str, Log[Any, Any]]

    def read(self, slices: Sequence[Slice], *, max_bytes: int = NO_LIMIT) -> list[Queue]:
        """Read slices of a plan, in their order."""
        queues: list[Queue] = []
        sizes: dict[TopicPartition, tuple[int, int]] = {}
        several = sum(map(len, slices)) > 1
        for is_log, own in groupby(slices, lambda each: each.topic in self.logs):
            room = max_bytes - sum(size for _, size in sizes.values())
            some = list(own)
            try:
                found = self._read(some, room) if is_log else self.others.read(some, max_bytes=room)
            except TooManyBytesError as exc:
                raise TooManyBytesError({**sizes, **_added(sizes, exc.sizes)}) from None
            queues += found
            for each, queue in zip(some, found, strict=True):
                size = {each.topic_partition: (len(each), queue.table.nbytes)}
                sizes.update(_added(sizes, size))
            if several and sum(size for _, size in sizes.values()) > max_bytes:
                raise TooManyBytesError(sizes)
        return queues

    def _read(self, slices: Sequence[Slice], room: int) -> list[Queue]:
        queues: list[Queue] = []
        sizes: dict[TopicPartition, tuple[int, int]] = {}
        for each in slices:
            table = self._table(each, max(room, 0))
            room -= table.nbytes
            read = len(each) if room >= 0 else max(table.num_rows, 1)
            size = {each.topic_partition: (read, table.nbytes)}
            sizes.update(_added(sizes, size))
            if room < 0 and (len(each) > 1 or len(slices) > 1):
                raise TooManyBytesError(sizes)
            queues.append(Queue(each.entry, each.topic, each.partition, table))
        return queues

    def _table(self, each: Slice, room: int) -> pa.Table:
        piece = Piece(each.partition, each.from_offset, each.to_offset, each.segment)
        reader = self._reader(each.topic)
        try:
            return _cast(reader.read(piece, max_bytes=room))
        except BaseException as exc:
            del _READERS[each.topic]
            reader.close()
            if isinstance(exc, KStreamsError):
                exc.at(topic=each.topic, partition=each.partition, offset=each.from_offset)
            raise

    def _reader(self, name: str) -> LogReader:
        log = self.logs[name]
        known, reader = _READERS.get(name, (None, None))
        if reader is None or known != log:
            if reader is not None:
                reader.close()
            reader = log.reader()
            _READERS[name] = log, reader
        return reader

    def read_ahead(self) -> None:
        """Get ready for the next slices of topics."""
        self.others.read_ahead()

    def limits(self, topic: str) -> TopicLimits:
        """Return what a topic takes."""
        return self.others.limits(topic)

    def write(
        self,
        output: TaskOutput,
        group: PartitionGroup,
        *,
        producer: str,
        batch: int,
        revision: int = 0,
    ) -> Sequence[Output]:
        """Write a batch's output to topics."""
        return self.others.write(output, group, producer=producer, batch=batch, revision=revision)

    def staged(
        self,
        output: TaskOutput,
        group: PartitionGroup,
        *,
        producer: str,
        batch: int,
        revision: int = 0,
    ) -> Iterable[tuple[str, pa.Table]]:
        """Return what waits for the commit."""
        return self.others.staged(output, group, producer=producer, batch=batch, revision=revision)


_READERS: dict[str, tuple[Log[Any, Any], LogReader]] = {}
"""This worker's, by the log's name, with the log as it was set then."""

_MORE = {UNREADABLE: pa.string(), ORIGIN: pa.dictionary(pa.int32(), pa.string())}
"""Columns that a log's tables may have."""


def _cast(table: pa.Table) -> pa.Table:
    """Return a log's table with the types of input."""
    more = [pa.field(n, kind) for n, kind in _MORE.items() if n in table.column_names]
    schema = pa.schema([*INPUT_SCHEMA, *more])
    return table.select(schema.names).cast(schema)


def _added(
    sizes: Mapping[TopicPartition, tuple[int, int]],
    more: Mapping[TopicPartition, tuple[int, int]],
) -> dict[TopicPartition, tuple[int, int]]:
    """Return sizes of some partitions, with what was counted of them before."""
    found = dict[TopicPartition, tuple[int, int]]()
    for place, (offsets, size) in more.items():
        before = sizes.get(place, (0, 0))
        found[place] = before[0] + offsets, before[1] + size
    return found
