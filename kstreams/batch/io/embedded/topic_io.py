"""Embedded topics on Spark: tasks stage files, and the driver publishes those of the commit."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import lru_cache

import pyarrow as pa
from typing_extensions import override

from kstreams.batch.io.sinks import outputs_of
from kstreams.batch.io.topic_io import BatchId, TopicIO
from kstreams.checkpoint.planning.plans import Slice
from kstreams.embedded.connection import Embedded
from kstreams.embedded.log import EmbeddedLog
from kstreams.embedded.segment import Segment
from kstreams.errors import StateCorruptError, UnknownTopicError
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TopicPartition
from kstreams.names import TOPIC_RULE, is_topic, shown_name
from kstreams.partitioner import Partitioner
from kstreams.pieces import pieces
from kstreams.raw_batch import INPUT_SCHEMA, NO_LIMIT, TooManyBytesError, by_partition, by_topic
from kstreams.state.log.commits import Output
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.records.queues import Queue
from kstreams.topic_limits import LOCAL_LIMITS, TopicLimits

__all__ = ("EmbeddedIO", "publish")

_LOG = logging.getLogger(__name__)


class EmbeddedIO(TopicIO):
    """A `TopicIO` on embedded topics; readers see each result exactly once.

    Args:
        connection: The directory and settings of the embedded topics.
    """

    def __init__(self, connection: Embedded) -> None:
        self._connection = connection

    @override
    def read(self, slices: Sequence[Slice], *, max_bytes: int = NO_LIMIT) -> list[Queue]:
        queues: list[Queue] = []
        sizes: dict[TopicPartition, tuple[int, int]] = {}
        room = max_bytes
        for each in slices:
            queue = self._queue(each, room)
            size, place = queue.table.nbytes, each.topic_partition
            offsets, before = sizes.get(place, (0, 0))
            sizes[place] = offsets + queue.table.num_rows, before + size
            room -= size
            if queue.table.num_rows < len(each) or (room < 0 and sum(map(len, slices)) > 1):
                raise TooManyBytesError(sizes)
            queues.append(queue)
        return queues

    def _queue(self, each: Slice, room: int) -> Queue:
        plain = is_topic(each.topic) and isinstance(each.partition, int)
        segment = Segment.parse(each.topic, each.partition, each.segment) if plain else None
        if segment is None:
            place = f"{each.topic_partition}/{each.segment}"
            raise StateCorruptError(
                f"the stored plan of a batch names {shown_name(place)}, which is not the file "
                f"name of a segment",
                hint="restore the checkpoint from a copy.",
            )
        table = _log(self._connection).read(
            segment,
            each.from_offset,
            each.to_offset,
            columns=INPUT_SCHEMA.names,
            max_bytes=max(room, 0),
        )
        return Queue(each.entry, each.topic, each.partition, table)

    @override
    def limits(self, topic: str) -> TopicLimits:
        """Return the limits of embedded topics; a write creates a missing topic.

        Raises:
            UnknownTopicError: The name is invalid for a topic.
        """
        if not is_topic(topic):
            raise UnknownTopicError(
                f"{shown_name(topic)} cannot be a topic's name", hint=f"Use {TOPIC_RULE}."
            )
        return LOCAL_LIMITS

    @override
    def write(self, output: TaskOutput, group: PartitionGroup, batch: BatchId) -> list[Output]:
        """Stage a batch's output in files, by sink, topic and partition; return their references.

        Large output of a sink is divided into pieces, each with its own files.
        """
        staged: list[Output] = []
        owner = batch.producer
        for sink, partitioner, table in outputs_of(output, group):
            written: dict[str, int] = {}
            for number, piece in enumerate(pieces(table)):
                # A partition accepts one file per producer and batch: each piece has its own id.
                own = f"{owner}/{sink}#{number}" if number else f"{owner}/{sink}"
                for topic, partition, name in self._staged(piece, partitioner, written, owner):
                    staged.append(Output(topic, partition, name, own))
        return staged

    def _staged(
        self, piece: pa.Table, partitioner: Partitioner, written: dict[str, int], owner: str
    ) -> Iterator[tuple[str, int, str]]:
        """Stage rows of a sink's output; yield topic, partition and name of each file.

        Args:
            piece: The rows to stage, a part of the sink's output.
            partitioner: The partitioner of the sink.
            written: The number of rows of this sink staged so far, by topic; updated.
            owner: The producer id of the task.
        """
        log = _log(self._connection)
        for topic, rows in by_topic(piece):
            count = log.ensure(topic, self._connection.default_partitions).partitions
            first = written.get(topic, 0)
            written[topic] = first + rows.num_rows
            for partition, part in by_partition(rows, partitioner, count, first=first):
                yield topic, partition, log.stage(topic, partition, _columns(part), owner=owner)


def publish(log: EmbeddedLog, outputs: Sequence[Output], batch: int) -> None:
    """Publish the rows of a committed batch; published rows stay unchanged.

    The rows of a topic that was deleted meanwhile are dropped.
    """
    for output in outputs:
        try:
            log.publish(
                output.topic, output.partition, output.staged, producer=output.producer, batch=batch
            )
        except UnknownTopicError as exc:
            _LOG.warning("rows of batch %s are not published: %s", batch, exc)


def _columns(table: pa.Table) -> pa.Table:
    return table.select(["timestamp", "key", "value", "headers"])


@lru_cache(maxsize=8)
def _log(connection: Embedded) -> EmbeddedLog:
    return connection.log()
