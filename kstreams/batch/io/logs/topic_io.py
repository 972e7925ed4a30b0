"""Logs on Spark: tasks read them in addition to the topics of a connection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from typing_extensions import override

from kstreams.batch.io.topic_io import BatchId, TopicIO
from kstreams.checkpoint.planning.plans import Slice
from kstreams.errors import KStreamsError
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TopicPartition
from kstreams.log import Log, LogReader, Piece
from kstreams.raw_batch import INPUT_SCHEMA, NO_LIMIT, ORIGIN, UNREADABLE, TooManyBytesError
from kstreams.state.log.commits import Output
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.records.queues import Queue
from kstreams.topic_limits import TopicLimits

__all__ = ("LogIO", "close_readers")


@dataclass(frozen=True)
class LogIO(TopicIO):
    """A `TopicIO` that reads logs, and leaves topics to another `TopicIO`.

    Args:
        others: The `TopicIO` that reads and writes topics.
        logs: The logs by name.
    """

    others: TopicIO
    logs: Mapping[str, Log[Any, Any]]

    @override
    def read(self, slices: Sequence[Slice], *, max_bytes: int = NO_LIMIT) -> list[Queue]:
        """Read a plan's slices; return one queue for each, in order. Topics are read first."""
        sizes: dict[TopicPartition, tuple[int, int]] = {}
        topics = [each for each in slices if each.topic not in self.logs]
        read = self.others.read(topics, max_bytes=max_bytes) if topics else []
        for each, queue in zip(topics, read, strict=True):
            _add(sizes, each, len(each), queue.table)
        room = max_bytes - sum(size for _, size in sizes.values())
        several = sum(map(len, slices)) > 1
        found = iter(read)
        queues: list[Queue] = []
        for each in slices:
            if each.topic not in self.logs:
                queues.append(next(found))
                continue
            table = self._table(each, max(room, 0))
            room -= table.nbytes
            _add(sizes, each, len(each) if room >= 0 else max(table.num_rows, 1), table)
            if room < 0 and several:
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

    @override
    def read_ahead(self) -> None:
        """Prefetch the next slices of topics."""
        self.others.read_ahead()

    @override
    def limits(self, topic: str) -> TopicLimits:
        return self.others.limits(topic)

    @override
    def write(self, output: TaskOutput, group: PartitionGroup, batch: BatchId) -> Sequence[Output]:
        return self.others.write(output, group, batch)

    @override
    def staged(
        self, output: TaskOutput, group: PartitionGroup, batch: BatchId
    ) -> Iterable[tuple[str, pa.Table]]:
        return self.others.staged(output, group, batch)


_READERS: dict[str, tuple[Log[Any, Any], LogReader]] = {}
"""The open readers of this process by log name, each with the log that it was opened for."""

_MORE = {UNREADABLE: pa.string(), ORIGIN: pa.dictionary(pa.int32(), pa.string())}
"""Additional columns that the table of a log may have."""


def _cast(table: pa.Table) -> pa.Table:
    """Return a log's table with the columns and types of a batch's input."""
    more = [pa.field(n, kind) for n, kind in _MORE.items() if n in table.column_names]
    schema = pa.schema([*INPUT_SCHEMA, *more])
    return table.select(schema.names).cast(schema)


def _add(
    sizes: dict[TopicPartition, tuple[int, int]], each: Slice, offsets: int, table: pa.Table
) -> None:
    """Add the read records of a slice to the sizes of its partition.

    Args:
        sizes: The number of read offsets and bytes of each partition.
        each: The slice that was read.
        offsets: The number of offsets of the slice that were read.
        table: The records of the slice that were read.
    """
    before, size = sizes.get(each.topic_partition, (0, 0))
    sizes[each.topic_partition] = before + offsets, size + table.nbytes


def close_readers(names: Iterable[str]) -> None:
    """Close the readers of logs in this process; the next read opens new readers."""
    for name in names:
        if name in _READERS:
            _READERS.pop(name)[1].close()
