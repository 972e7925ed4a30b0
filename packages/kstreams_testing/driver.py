"""Run a topology in memory, many partitions at once, with no JVM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from typing_extensions import Self

from kstreams._types import K, V
from kstreams.batch.messages.task_call import TaskCall
from kstreams.batch.planning.limits import QueryLimits
from kstreams.batch.totals import totals_after
from kstreams.batch.worker.task_settings import EdgeTarget, TaskSettings
from kstreams.clock import FakeClock, WatchedClock, to_ms
from kstreams.connection import RawRecord
from kstreams.errors import TopologyError
from kstreams.graph.checks.partitions import partition_counts
from kstreams.graph.framed_topics import prepare_topics
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.ids import TaskId
from kstreams.log import Log
from kstreams.processors.interceptor import Interceptor, checked_interceptors
from kstreams.record import Headers, Record
from kstreams.sink import Sink
from kstreams.state.backend.working import StateBackend
from kstreams.state.log.loop_objects import LoopPart, object_names
from kstreams.state.log.totals import Totals, by_reason
from kstreams.state.stores.readable import Ranges
from kstreams.state.stores.spec import StoreSpec
from kstreams.topic import Topic
from kstreams.topic_limits import TopicLimits
from kstreams_testing.driver_batch import DriverBatch, passed_by
from kstreams_testing.driver_io import DriverIO
from kstreams_testing.driver_outside import DriverOutside
from kstreams_testing.driver_sinks import DriverSinks
from kstreams_testing.driver_sources import DriverSources
from kstreams_testing.driver_tables import DriverTables
from kstreams_testing.driver_task import DriverTask, opened_store
from kstreams_testing.driver_topics import DriverTopics, decoded
from kstreams_testing.key_check import KeyCheck, with_batch_checks
from kstreams_testing.resident_objects import ResidentObjects

__all__ = ("TopologyTestDriver",)

S = TypeVar("S")
"""The live type of a store."""


class TopologyTestDriver(DriverOutside):
    """Runs a topology on topics in memory, and gives the test access to all topics and stores.

    The tasks are those that run on Spark; each call of `pipe` or `pipe_batch` is one micro-batch,
    which is committed at its end. Records that groups write to each other's topics and to loops are
    processed in further batches until no record is left. If a call raises, the failed batch is
    rolled back, and the next call processes its records again.

    `totals` has the counts of nodes so far, as in commits; `dropped` the drops by reason.

    Args:
        topology: The topology.
        partitions: The partition count of every topic, or the count by topic name.
        start: The wall-clock time at the start: a datetime with a time zone, or ms since the epoch.
        interceptors: The interceptors, as for an app.
        state: The backend of the stores; None keeps them in memory.
        directory: The directory of a backend with files; None is a temporary directory, which
            `close` removes.
        recreate_processors: Create new processors for each batch, as Spark may: a test then finds
            instance attributes that are used as state.
        check_keys: Raise an error if a key reaches a stateful node in a partition that its
            partitioner does not choose, because equal keys could be in two tasks.
        limits: The limits of topics by name, as Kafka configures them; other topics have none.
        real_sinks: Whether to write to sinks other than topics; else `results` returns the results.
        real_sources: Whether to read real logs: `run` reads their new records. Otherwise logs are
            in memory, as topics are.

    Raises:
        PartitionCountError: Topics of a group differ in partition count, or a count is zero or
            above `MAX_PARTITIONS`.
        KStreamsError: A serde cannot read or write its topic.

    Source: `org.apache.kafka.streams.TopologyTestDriver`, with partitions.
    """

    def __init__(
        self,
        topology: Topology,
        *,
        partitions: int | Mapping[str, int] = 1,
        start: datetime | int = 0,
        interceptors: Sequence[Interceptor] = (),
        state: StateBackend | None = None,
        directory: Path | None = None,
        recreate_processors: bool = False,
        check_keys: bool = True,
        limits: Mapping[str, TopicLimits] | None = None,
        real_sinks: bool = False,
        real_sources: bool = False,
    ) -> None:
        super().__init__()
        prepare_topics(topology)
        self.topology = topology
        self.clock = FakeClock(start if isinstance(start, int) else to_ms(start))
        self._watched = WatchedClock(self.clock)
        self.totals = Totals()
        self.dropped: dict[str, int] = {}
        self.lines: list[str] = []
        self._topics = DriverTopics(partitions)
        self._objects = ResidentObjects()
        self._looped: dict[str, tuple[LoopPart, ...]] = {}
        self._io = DriverIO(self._topics, limits or {})
        self._sinks = DriverSinks(topology, real=real_sinks)
        self._sources = DriverSources(topology, self._topics, self.clock, real=real_sources)
        self._read = self._sources.io(self._io)
        self._recreate = recreate_processors
        self._check_keys = check_keys
        self._given = checked_interceptors(interceptors)
        self._backend = state
        self._temporary: TemporaryDirectory[str] | None = None
        self._home = directory
        if state is not None and directory is None:
            self._temporary = TemporaryDirectory(prefix="kstreams-driver-")
            self._home = Path(self._temporary.name)
        counts = partition_counts(topology, self._sources.counts())
        self._counts, self._uneven = counts.tasks, counts.uneven
        self._limits = {
            groups[0].name: QueryLimits(groups, [self._counts[group.name] for group in groups])
            for groups in topology.pipelines()
        }
        self._fingerprint = topology.fingerprint()
        for group in topology.groups:
            for spec in group.stores:
                if spec.changelog is not None:
                    self._topics.create(spec.changelog, self._counts[group.name])
        self._edges = {
            edge.name: EdgeTarget(stage, self._uneven.of_input(edge.name, self._counts[group.name]))
            for groups in topology.pipelines()
            for stage, group in enumerate(groups)
            for edge in group.from_tasks
        }
        self._tasks: dict[str, list[DriverTask]] = {}
        self._tables = DriverTables(topology, self._tasks.__getitem__)
        for group in topology.groups:  # groups with global tables first
            self._tasks[group.name] = [
                self._task(group, number) for number in range(self._counts[group.name])
            ]

    def _task(self, group: PartitionGroup, partition: int) -> DriverTask:
        counts = self._uneven.inputs_of(group, self._counts[group.name])
        interceptors, made = self._given, group
        if self._check_keys and group.stores:
            interceptors = (*self._given, KeyCheck(group, counts))
            made = with_batch_checks(group, partition, counts)
        settings = TaskSettings(
            made,
            partition,
            self._io,
            producer=str(TaskId(group.name, partition)),
            edges=self._edges,
            interceptors=interceptors,
            partitions=counts if self._check_keys else None,
            tables={spec.name: self._tables.of(spec.name) for spec in group.global_stores},
            keeps_processors=not self._recreate,
            epoch=self.topology.name,
            fingerprint=self._fingerprint,
            writers=self._sinks.writers,
        )
        working = opened_store(group, partition, self._backend, self._home)
        return DriverTask(settings, working, self._objects, wall_ms=self.clock.now_ms())

    def pipe(
        self,
        topic: Topic[K, V] | Log[K, V],
        key: K,
        value: V,
        *,
        timestamp: datetime | int | None = None,
        headers: Headers = (),
        partition: int | None = None,
    ) -> None:
        """Write one record to a topic, and process it as a batch.

        Args:
            topic: The topic or log of a source.
            key: The key.
            value: The value.
            timestamp: The event time: a datetime with a time zone, or ms since the epoch; None is
                the time of the driver's clock.
            headers: The headers.
            partition: The partition; None uses the topic's partitioner.

        Raises:
            UnknownTopicError: No source reads the topic.
        """
        self.write(topic, key, value, timestamp=timestamp, headers=headers, partition=partition)
        self.run()

    def pipe_batch(self, topic: Topic[K, V] | Log[K, V], records: Iterable[Record[K, V]]) -> None:
        """Write records to a topic and process them as one batch."""
        for record in records:
            self.write(
                topic,
                record.key,
                record.value,
                timestamp=record.timestamp,
                headers=record.headers,
            )
        self.run()

    def write(
        self,
        topic: Topic[K, V] | Log[K, V],
        key: K,
        value: V,
        *,
        timestamp: datetime | int | None = None,
        headers: Headers = (),
        partition: int | None = None,
    ) -> None:
        """Write a record without processing it; `run` processes written records as one batch."""
        made = self._sources.topic(topic)
        key_bytes, value_bytes, headers = made.framed(
            None if key is None else made.key.serialize(key),
            None if value is None else made.value.serialize(value),
            headers,
        )
        self.write_bytes(
            topic.name,
            key_bytes,
            value_bytes,
            timestamp=self._ms(timestamp),
            headers=headers,
            partition=partition,
        )

    def write_bytes(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        *,
        timestamp: int,
        headers: Headers = (),
        partition: int | None = None,
    ) -> None:
        """Write an encoded record, which may be invalid, without processing it."""
        source = self._sources.node(topic).topic
        record = RawRecord(topic, 0, 0, timestamp, key, value, headers)
        self._topics.append(record, source.partitioner, partition)

    def run(self) -> None:
        """Process the written records as one batch, and continue until no record is left."""
        pipelines = self.topology.pipelines()
        while sum(self._run_pipeline(groups) for groups in pipelines):
            pass

    @property
    def finished(self) -> bool:
        """Whether a run of the app would end by itself now; see `App.run`.

        Without `real_sources`, all logs are unbounded, because a test may write more records.
        """
        return all(
            self._sources.are_finished(self._tasks_of(groups), self._limits[groups[0].name])
            for groups in self.topology.pipelines()
        )

    def advance_wall_clock(self, by: timedelta) -> None:
        """Move the wall clock; punctuators that are due fire in every task."""
        self.clock.advance(by)
        for groups in self.topology.pipelines():
            self._run_pipeline(groups, always=True)
        self.run()

    def close_windows(self) -> None:
        """Close the open windows, as `App.drain(close_windows=True)` does."""
        for groups in self.topology.pipelines():
            self._run_pipeline(groups, always=True, close_windows=True)
            self.run()

    def read(self, topic: Topic[K, V]) -> list[Record[K, V]]:
        """Return the decoded records of a topic that were not read before.

        They are in the order of writing; see `read_rows` for partitions.
        """
        return [decoded(topic, row) for row in self._topics.read(topic.name)]

    def read_values(self, topic: Topic[K, V]) -> dict[K, V]:
        """Read the records of a topic, as `read` does, and return the last value of each key."""
        return {record.key: record.value for record in self.read(topic)}

    def read_rows(self, topic: str) -> list[RawRecord]:
        """Return the encoded records of a topic that were not read before."""
        return self._topics.read(topic)

    def results(self, sink: Sink[K, V]) -> list[Record[K, V]]:
        """Return the new results of a sink other than a topic.

        Raises:
            TopologyError: The topology does not have the sink, or the driver has `real_sinks`.
        """
        return self._sinks.read(sink)

    def store(self, spec: StoreSpec[S], partition: int | None = None) -> S:
        """Return the live store of a task; `partition` is optional if the store has one partition.

        Raises:
            TopologyError: The store does not exist, or has several partitions and `partition` is
                None.
        """
        tasks = self._store_tasks(spec)
        if partition is None and len(tasks) != 1:
            raise TopologyError(
                f"store {spec.name!r} has {len(tasks)} partitions, and partition= is missing",
                hint="give partition=, or use store_contents for all partitions.",
            )
        return tasks[partition or 0].state.store(spec)

    def store_contents(self, spec: StoreSpec[Ranges[K, tuple[K, V]]]) -> dict[K, V]:
        """Return the content of a store with rows by key, of all partitions, ordered by partition.

        Values are the same as from the `range` of the store: for a timestamped store pairs of value
        and time (ms), for a list store all elements.
        """
        contents: dict[K, V] = {}
        for task in self._store_tasks(spec):
            contents.update(task.state.store(spec).range())
        return contents

    def stream_time(self, group: str, partition: int = 0) -> int:
        """Return a task's stream time, ms since the epoch; -1 before the first record."""
        return self._tasks[group][partition].state.meta.stream_time

    def close(self) -> None:
        """Close the processors and stores."""
        with ExitStack() as stack:
            stack.callback(self._close_views)
            if self._temporary is not None:
                stack.callback(self._temporary.cleanup)
            stack.callback(self._sinks.close)
            stack.callback(self._sources.close)
            for tasks in self._tasks.values():
                for task in tasks:
                    stack.callback(task.close)

    def __enter__(self) -> Self:
        """Return the driver."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the driver."""
        self.close()

    def _ms(self, timestamp: datetime | int | None) -> int:
        if timestamp is None:
            return self.clock.now_ms()
        return timestamp if isinstance(timestamp, int) else to_ms(timestamp)

    def _tasks_of(self, groups: Iterable[PartitionGroup]) -> list[tuple[int, DriverTask]]:
        """Return the tasks of chained groups, with the numbers of their stages."""
        return [(n, task) for n, group in enumerate(groups) for task in self._tasks[group.name]]

    def _run_pipeline(
        self,
        groups: tuple[PartitionGroup, ...],
        *,
        always: bool = False,
        close_windows: bool = False,
    ) -> bool:
        """Run a batch of chained groups if there is input or `always`; return whether it ran."""
        tasks = self._tasks_of(groups)
        self._sources.look()
        limits = self._limits[groups[0].name]
        stopped = limits.stopped(passed_by(tasks))
        slices = [self._sources.fresh(task, stopped) for _, task in tasks]
        looped = self._looped.get(groups[0].name, ())
        if not always and not any(slices) and not looped:
            return False
        self._tables.refresh()
        self._batch += 1
        wall_ms = self._watched.now_ms()
        call = TaskCall((), wall_ms, self._watched.since_ms, close_windows)
        batch = DriverBatch(tasks, slices, limits, self._read.read, self._io.discard)
        statuses = batch.run(call, looped, self._batch)
        changed = [(task, task.keep()) for _, task in tasks]
        self._io.publish()
        self._sinks.publish(statuses)
        loops = tuple(part for status in statuses for part in status.loops)
        self.totals = totals_after(self.totals, statuses, loops_before=looped, loops=loops)
        self.dropped = by_reason(self.totals.nodes)
        self._looped[groups[0].name] = loops
        self._objects.delete(object_names(looped))
        if self._versions is not None:
            self._versions.keep(self._batch, wall_ms, changed)
        self.lines.extend(line for status in statuses for line in status.lines)
        return True
