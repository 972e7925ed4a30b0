"""Kafka topics on Spark: read and written by clients in the tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kstreams.graph.topology import PartitionGroup
from kstreams.kafka.options import Kafka
from kstreams.kafka.range_reader import OffsetRange, RangeReader
from kstreams.kafka.sink import write_rows
from kstreams.spark.plans import Slice
from kstreams.spark.sinks import outputs_of
from kstreams.task.outputs import TaskOutput
from kstreams.task.queues import Queue
from kstreams.task.too_many_bytes import NO_LIMIT

__all__ = ("KafkaIO",)


@dataclass(frozen=True)
class KafkaIO:
    """A `TopicIO` on Kafka: what it writes is seen at once, and again after a retry.

    Args:
        connection: The cluster.
    """

    connection: Kafka

    def read(self, slices: Sequence[Slice], *, max_bytes: int = NO_LIMIT) -> list[Queue]:
        """Read slices of a plan, in their order."""
        ranges = [OffsetRange(s.topic, s.partition, s.from_offset, s.to_offset) for s in slices]
        tables = _reader(self.connection).read(ranges, max_bytes=max_bytes)
        return [
            Queue(each.entry, each.topic, each.partition, table)
            for each, table in zip(slices, tables, strict=True)
        ]

    def read_ahead(self) -> None:
        """Read on behind the slices, until the next ones are asked for."""
        _reader(self.connection).read_ahead()

    def write(
        self,
        output: TaskOutput,
        group: PartitionGroup,
        *,
        producer: str,
        batch: int,
        revision: int = 0,
    ) -> list[list[Any]]:
        """Write a batch's output; it is durable on return, so there is nothing to publish."""
        number = f"{batch}.{revision}" if revision else str(batch)
        for sink, partitioner, table in outputs_of(output, group):
            write_rows(
                self.connection,
                table,
                partitioner=partitioner,
                id_prefix=f"{producer}/{sink}/{number}",
                node=sink,
            )
        return []


@lru_cache(maxsize=4)
def _reader(connection: Kafka) -> RangeReader:
    """Return this worker's."""
    return RangeReader(connection)
