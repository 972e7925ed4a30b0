"""The input of the test driver: topics in memory and real logs."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kstreams._types import K, V
from kstreams.batch.io.logs.feed import logs_of
from kstreams.batch.io.logs.topic_io import LogIO, close_readers
from kstreams.batch.io.topic_io import TopicIO
from kstreams.batch.planning.limits import QueryLimits
from kstreams.checkpoint.planning.plans import Slice
from kstreams.clock import Clock
from kstreams.errors import TopologyError, UnknownTopicError
from kstreams.graph.nodes import SourceNode
from kstreams.graph.topology import Topology
from kstreams.ids import TopicPartition
from kstreams.log import Log, LogContents, is_bounded
from kstreams.topic import Topic
from kstreams_generated_logs.rate_log import RateLog
from kstreams_testing.driver_batch import passed_by
from kstreams_testing.driver_task import DriverTask
from kstreams_testing.driver_topics import DriverTopics

__all__ = ("DriverSources",)


class DriverSources:
    """The sources of a topology under test.

    Args:
        topology: The topology.
        topics: The topics in memory, which also replace logs unless `real` is set.
        real: Whether to read real logs.
        clock: The clock of the driver.
    """

    def __init__(
        self, topology: Topology, topics: DriverTopics, clock: Clock, *, real: bool
    ) -> None:
        self._clock = clock
        self._nodes = {node.topic.name: node for node in topology.sources}
        self._topics = topics
        self._logs = logs_of(topology.sources) if real else {}
        self._contents: dict[str, LogContents] = {}
        self._ends: dict[str, dict[int, int]] = {}

    def counts(self) -> dict[str, int]:
        """Return the number of partitions of each source."""
        self.look()
        found = {name: self._topics.count(name) for name in self._nodes if name not in self._logs}
        return found | {name: len(ends) for name, ends in self._ends.items()}

    def look(self) -> None:
        """Request the end offsets of logs; the next batch reads up to these offsets."""
        for name, log in self._logs.items():
            if name not in self._contents:
                self._contents[name] = (
                    log.contents(self._clock) if isinstance(log, RateLog) else log.contents()
                )
            if name not in self._ends or not is_bounded(log):
                self._ends[name] = self._contents[name].ends()

    def fresh(self, task: DriverTask, stopped: Collection[str] = ()) -> tuple[Slice, ...]:
        """Return the new input of a task.

        Args:
            task: The task.
            stopped: Topics that are not read any more.
        """
        found: list[Slice] = []
        for node in task.group.sources:
            if node.topic.name in stopped:
                continue
            if node.topic.name in self._logs:
                found += self._of_log(node, task)
            elif (one := self._topics.fresh(node, task)) is not None:
                found.append(one)
        return tuple(found)

    def are_finished(self, tasks: Sequence[tuple[int, DriverTask]], limits: QueryLimits) -> bool:
        """Return whether the tasks of a pipeline get no more records that have an effect."""
        stopped = limits.stopped(passed_by(tasks))
        sources = {node.topic.name for _, task in tasks for node in task.group.sources} - stopped
        bounded = {name for name, log in self._logs.items() if is_bounded(log)}
        return sources <= bounded and not any(self.fresh(task, stopped) for _, task in tasks)

    def _of_log(self, node: SourceNode, task: DriverTask) -> list[Slice]:
        name, partition = node.topic.name, task.partition
        contents = self._contents[name]
        start = task.state.meta.next_offsets.get(TopicPartition(name, partition))
        if start is None:
            start = contents.beginnings()[partition]
        pieces = contents.pieces(partition, start, self._ends[name][partition])
        return [Slice(node.name, name, partition, p.start, p.stop, p.place) for p in pieces]

    def io(self, topics: TopicIO) -> TopicIO:
        """Return the reader of all sources of tasks, given the reader of topics in memory."""
        return LogIO(topics, self._logs) if self._logs else topics

    def topic(self, source: Topic[K, V] | Log[K, V]) -> Topic[K, V]:
        """Return the topic of a source, or the topic that replaces a log."""
        if isinstance(source, Topic):
            return source
        if source.name in self._logs:
            raise TopologyError(
                f"records cannot be piped to log {source.name!r}: the driver has real_sources=True",
                hint="write the input to the real source, or leave out real_sources=True.",
            )
        return Topic(source.name, source.key, source.value)

    def node(self, topic: str) -> SourceNode:
        """Return the source that reads a topic.

        Raises:
            UnknownTopicError: No source reads the topic.
        """
        found = self._nodes.get(topic)
        if found is None:
            known = ", ".join(map(repr, self._nodes))
            raise UnknownTopicError(f"no source reads topic {topic!r}; sources read {known}")
        return found

    def close(self) -> None:
        """Release the resources of logs."""
        close_readers(self._logs)
        while self._contents:
            self._contents.popitem()[1].close()
