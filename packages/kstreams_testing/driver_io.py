"""The topics of the test driver, as its tasks read and write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from typing_extensions import override

from kstreams.batch.io.sinks import outputs_of
from kstreams.batch.io.topic_io import BatchId, TopicIO
from kstreams.checkpoint.planning.plans import Slice
from kstreams.graph.topology import PartitionGroup
from kstreams.raw_batch import NO_LIMIT
from kstreams.state.log.commits import Output
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.records.queues import Queue
from kstreams.topic_limits import NO_LIMITS, TopicLimits
from kstreams_testing.driver_topics import DriverTopics, PlacedRows

__all__ = ("DriverIO",)


class DriverIO(TopicIO):
    """A `TopicIO` on lists of records; output is published when all tasks of the batch are done.

    Args:
        topics: The lists of records.
        limits: The limits of topics, by name; other topics have none.
    """

    def __init__(self, topics: DriverTopics, limits: Mapping[str, TopicLimits]) -> None:
        self._topics = topics
        self._limits = dict(limits)
        self._waiting: list[PlacedRows] = []

    @override
    def read(self, slices: Sequence[Slice], *, max_bytes: int = NO_LIMIT) -> list[Queue]:
        return [
            Queue(each.entry, each.topic, each.partition, self._topics.table(each))
            for each in slices
        ]

    @override
    def limits(self, topic: str) -> TopicLimits:
        return self._limits.get(topic, NO_LIMITS)

    @override
    def write(
        self, output: TaskOutput, group: PartitionGroup, batch: BatchId
    ) -> tuple[Output, ...]:
        """Assign partitions to a task's output; `publish` makes the output visible.

        Raises:
            TopologyError: A partitioner returned a partition that the topic does not have.
        """
        for _, partitioner, table in outputs_of(output, group):
            self._waiting += self._topics.placed(table, partitioner)
        return ()

    def publish(self) -> None:
        """Publish the output in the order of writing."""
        for rows in self._waiting:
            self._topics.add(rows)
        self._waiting.clear()

    def discard(self) -> None:
        """Discard the unpublished output."""
        self._waiting.clear()
