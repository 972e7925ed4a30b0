"""Embedded topics on Spark: tasks stage files, the driver publishes those that won."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from kstreams.embedded.connection import Embedded
from kstreams.embedded.log import EmbeddedLog
from kstreams.embedded.segment import Segment
from kstreams.errors import StateCorruptError, UnknownTopicError
from kstreams.graph.topology import PartitionGroup
from kstreams.spark.sinks import by_partition, by_topic, outputs_of
from kstreams.state.commits import Output
from kstreams.task.outputs import TaskOutput
from kstreams.task.queues import QUEUE_SCHEMA, Queue

__all__ = ("EmbeddedWriter", "publish")

_LOG = logging.getLogger("kstreams")


class EmbeddedWriter:
    """A `SinkWriter` on embedded topics; results are seen exactly once.

    Args:
        connection: The topics.
        value_unused: Entries whose values no node looks at: their column is not read.
    """

    def __init__(self, connection: Embedded) -> None:
        self._connection = connection

    def read_slice(self, data: Sequence[Any]) -> Queue:
        """Read one slice of a plan."""
        entry, topic, partition, name, low, high = data
        segment = Segment.parse(topic, partition, name)
        if segment is None:
            raise StateCorruptError(f"a plan names {name!r}, which is no segment")
        table = _log(self._connection).read(segment, low, high, columns=QUEUE_SCHEMA.names)
        return Queue(entry, topic, partition, table.cast(QUEUE_SCHEMA))

    def write(
        self, output: TaskOutput, group: PartitionGroup, *, producer: str, batch: int
    ) -> list[list[Any]]:
        """Stage a batch's output, a file for each sink, topic and partition."""
        log = _log(self._connection)
        staged: list[list[Any]] = []
        for sink, partitioner, table in outputs_of(output, group):
            for topic, rows in by_topic(table):
                count = log.ensure(topic, self._connection.default_partitions).partitions
                for partition, part in by_partition(rows, partitioner, count):
                    name = log.stage(topic, partition, _columns(part))
                    staged.append([topic, partition, name, f"{producer}/{sink}"])
        return staged


def publish(log: EmbeddedLog, outputs: Sequence[Output], batch: int) -> None:
    """Make a committed batch's rows visible; what is visible already stays as it is.

    A topic that was deleted since has taken its rows along.
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
