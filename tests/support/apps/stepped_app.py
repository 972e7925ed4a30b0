"""An app whose queries are advanced batch by batch in this process, without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kstreams import Embedded, Topic, Topology
from kstreams.batch.batch_run import BatchRun, Parts
from kstreams.batch.io.open_feed import feed_of
from kstreams.batch.messages.envelope import Content, Envelope
from kstreams.batch.query_driver import QueryDriver
from kstreams.batch.report import BatchReport
from kstreams.batch.task_counts import count_partitions, topic_span
from kstreams.batch.worker.stage_run import StageRun
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.batch.worker.worker_state import WorkerState
from kstreams.checkpoint.planning.plans import Plan
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import OpenedQuery, open_for_running
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.clock import FakeClock
from kstreams.connection import Connection
from kstreams.emitter import Emitter
from kstreams.global_tables.opening import open_global_tables
from kstreams.global_tables.versions import QueryTables, Versions
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.working import StateBackend

PARTITIONS = 2


class Query:
    """One query of the app: its driver and its worker."""

    def __init__(self, app: ByHand, opened: OpenedQuery, tables: QueryTables) -> None:
        feed = feed_of(app.topics, [node for group in opened.groups for node in group.sources])
        self.settings = QuerySettings(
            app.settings.for_workers(),
            epoch=opened.epoch,
            state_name=opened.state_name,
            log=opened.log,
            groups=opened.groups,
            counts=tuple(app.tasks[group.name] for group in opened.groups),
            width=1,
            io=feed.io,
            checkpoint_id=opened.checkpoint.checkpoint_id,
        )
        self.driver = QueryDriver(
            self.settings,
            opened,
            feed,
            clock=app.clock,
            fence=lambda: None,
            run="run",
            tables=tables,
        )
        self.reports: list[BatchReport] = []
        self._worker = app.worker
        self._batches = BatchRun(
            self.settings,
            planner=self.driver.planner,
            plans=self.driver.plans,
            fence=lambda: None,
            tables=tables,
        )
        resumed = opened.resumed
        last = -1 if resumed.last is None else resumed.last.batch
        self.next = last + 1 if resumed.pending is None else resumed.pending

    def plan(self) -> Plan | None:
        """Return the pending plan, or plan the next batch; None if there is nothing to do."""
        found = self.driver.planned(self.next)
        if found is not None:
            return found
        made = self.driver.next_plan()
        return None if made is None else self.driver.record(self.next, made)

    def run(self, plan: Plan) -> Plan:
        """Run a batch and commit it."""
        plan, statuses = self._batches.run(self.next, plan, self.driver.last, self._job)
        self.reports.append(self.driver.commit(self.next, plan, statuses, 0.0))
        self.next += 1
        return plan

    def step(self) -> bool:
        """Plan and run a batch if there is something to do."""
        plan = self.plan()
        if plan is not None:
            self.run(plan)
        return plan is not None

    def _job(self, plan: Plan, parts: Parts, versions: Versions) -> Sequence[Content]:
        messages = [payload for part in parts.values() for _, payload in part]
        for stage in self.settings.stages():
            run = StageRun(stage, self._worker, self.next, plan.cuts, versions)
            messages = [payload for _, payload in run.messages(messages)]
        return [Envelope.unpack(payload).content for payload in messages]


class ByHand:
    """An app on embedded topics; a second instance on the same directory simulates a restart.

    Args:
        home: Directory of topics, checkpoint and local state.
        topology: The topology to run.
        state: Backend of the stores; in memory by default.
        partitions: Partitions of each source topic; 2 by default.
        topics: Connection of the topics; by default embedded topics, whose source topics are
            created.
        options: Settings of the app.
    """

    def __init__(
        self,
        home: Path,
        topology: Topology,
        *,
        state: StateBackend | None = None,
        partitions: Mapping[str, int] = MappingProxyType({}),
        topics: Connection | None = None,
        **options: Any,
    ) -> None:
        self.connection = Embedded(home / "topics", default_partitions=PARTITIONS, durable=False)
        self.topics: Connection = topics or self.connection
        sources = {node.topic.name for node in topology.sources if node.log is None}
        counts = {topic: partitions.get(topic, PARTITIONS) for topic in sources} | {**partitions}
        for topic, count in counts.items() if topics is None else ():
            self.connection.log().ensure(topic, count)
        self.clock = FakeClock(1_000)
        self.worker = WorkerState()
        given: dict[str, Any] = {"retained_batches": 2, "trigger": timedelta(0), **options}
        self.settings = AppSettings(
            topology.name,
            home_of(home / topology.name),
            state=state or Memory(directory=str(home / "local")),
            **given,
        )
        found = count_partitions(self.topics, topology)
        self.tasks = found.tasks
        opened = open_for_running(
            self.settings,
            topology,
            self.tasks,
            run="run",
            publish=lambda *_: None,
            uneven=found.uneven,
            span=partial(topic_span, self.topics, topology),
        )
        tables = open_global_tables(self.settings, topology, opened)
        self.queries = {each.name: Query(self, each, tables[each.name]) for each in opened}

    def run(self) -> None:
        """Run batches until no query has anything to do."""
        while sum(query.step() for query in self.queries.values()):
            pass

    def emit(self, topic: Topic[Any, Any], *records: tuple[Any, Any]) -> None:
        """Write records to a topic."""
        with Emitter(topic, self.connection) as emitter:
            emitter.emit_many(records)

    def values(self, topic: Topic[Any, Any]) -> list[Any]:
        """Return the values of a topic, sorted."""
        reader, ends = self.connection.reader(), self.connection.admin().end_offsets(topic.name)
        return sorted(
            topic.value.deserialize(record.value or b"")
            for partition, end in ends.items()
            for record in reader.read(topic.name, partition, 0, end)
        )
