"""`WholeQuery`: one query of an app in this process, planned, run, killed and restarted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kstreams import Embedded, Topology
from kstreams.batch.batch_run import BatchRun, Parts
from kstreams.batch.io.embedded.feed import EmbeddedFeed
from kstreams.batch.io.open_feed import publish_commit
from kstreams.batch.messages.envelope import Content, Envelope
from kstreams.batch.query_driver import QueryDriver
from kstreams.batch.report import BatchReport
from kstreams.batch.worker.stage_run import Message, StageRun
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.batch.worker.worker_state import WorkerState
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.planning.plans import Plan
from kstreams.checkpoint.resume import positions_after
from kstreams.checkpoint.savepoint.fork import ForkSource
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.migration import Migration
from kstreams.checkpoint.start.opening import open_for_running
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.connection import RawRecord
from kstreams.global_tables.versions import Versions
from kstreams.ids import TopicPartition
from kstreams.state.backend.memory import Memory
from kstreams.state.log.directory import Directory
from kstreams.testing import FakeClock
from kstreams_admin.reset import reset
from tests.support.apps.record_totals import check_totals

__all__ = ("WholeQuery",)


class WholeQuery:
    """Runs the only query of a topology on embedded topics, batch by batch.

    Args:
        home: Directory of topics, checkpoint and state.
        topology: A topology with one pipeline.
        partitions: Partitions of every topic, and so the number of tasks of each group.
        most: Maximum number of records in a batch.
        max_bytes: Maximum number of bytes in a batch.
        fork: Source of the fork to begin with.

    Attributes:
        plans: The committed plans, in order.
        reports: The report of each committed plan.
    """

    def __init__(
        self,
        home: Path,
        topology: Topology,
        *,
        partitions: int = 1,
        most: int = 100,
        max_bytes: int = 1 << 28,
        fork: ForkSource | None = None,
    ) -> None:
        self.connection = Embedded(home / "topics", default_partitions=partitions, durable=False)
        self.clock = FakeClock(1_790_000_000_000)
        self._topology = topology
        self._groups = topology.pipelines()[0]
        self._partitions = partitions
        self._settings = AppSettings(
            "whole",
            home_of(home / "checkpoint"),
            state=Memory(directory=str(home / "local"), log=Directory(str(home / "log"))),
            max_records_per_batch=most,
            max_bytes_per_batch=max_bytes,
            fork=fork,
        )
        self._begun: dict[TopicPartition, int] = {}
        self.plans: list[Plan] = []
        self.reports: list[BatchReport] = []
        self._ensure_topics()

    def _ensure_topics(self) -> None:
        for node in self._topology.sources:
            self.connection.log().ensure(node.topic.name, self._partitions)

    @property
    def savepoints(self) -> Savepoints:
        """Return the savepoints of the app."""
        log = self._settings.state.log
        assert log is not None
        return Savepoints(Checkpoint.load(self._settings.checkpoint), log.open())

    def upgrade(
        self,
        topology: Topology,
        *,
        migrate: Mapping[str, Migration] | None = None,
        reset: Collection[str] = (),
    ) -> None:
        """Start the app with another topology."""
        self._settings = replace(self._settings, migrate=migrate or {}, reset=frozenset(reset))
        self._topology, self._groups = topology, topology.pipelines()[0]
        self._ensure_topics()
        self.start()

    def reset(self) -> None:
        """Reset the app, and start it."""
        reset("whole", checkpoint=self._settings.checkpoint.named, state=self._settings.state)
        self.start()

    def start(self) -> None:
        """Start the app, or restart it from the state on disk alone."""
        tasks = {group.name: self._partitions for group in self._groups}
        settings = self._settings
        log = settings.state.log
        assert log is not None
        (query,) = open_for_running(
            settings,
            self._topology,
            tasks,
            run="run",
            publish=lambda last: publish_commit(self.connection, self._topology, last, log.open()),
        )
        if settings.fork is not None and not self._begun:  # a fork begins to count at zero
            assert query.resumed.last is not None
            self._begun = positions_after(query.resumed.last)
        feed = EmbeddedFeed(self.connection)
        self._query = QuerySettings(
            settings,
            epoch=query.epoch,
            scope=query.scope,
            log=log,
            groups=self._groups,
            counts=(self._partitions,) * len(self._groups),
            width=self._partitions,
            io=feed.io,
            fingerprint=self._topology.fingerprint(),
        )
        self._worker = WorkerState()
        self.driver = QueryDriver(
            self._query,
            query,
            feed,
            clock=self.clock,
            fence=lambda: None,
            run="run",
        )
        last = query.resumed.last
        self._number = 0 if last is None else last.batch + 1
        self._runs = BatchRun(
            self._query, planner=self.driver.planner, plans=query.plans, fence=lambda: None
        )
        self.driver.publish_last()

    def batch(self, *, until: dict[TopicPartition, int] | None = None, dies: bool = False) -> bool:
        """Plan a batch if none is pending, run and commit it; return False for nothing to do.

        Args:
            until: End offsets.
            dies: Let the process die before the commit.
        """
        plan = self.driver.planned(self._number)
        if plan is None:
            plan = self.driver.next_plan(until)
            if plan is None:
                return False
            plan = self.driver.record(self._number, plan)
        plan, statuses = self._runs.run(self._number, plan, self.driver.last, self._job)
        if dies:
            self.start()
            return True
        self.reports.append(self.driver.commit(self._number, plan, statuses, 0.0))
        self._check_totals()
        self.plans.append(plan)
        self._number += 1
        return True

    def _check_totals(self) -> None:
        """Assert that each record of the topics is counted exactly once."""
        last = self.driver.last
        assert last is not None
        assert last.totals is not None
        check_totals(self._topology, last.totals)
        for places in last.totals.sources.values():
            ends = positions_after(last)
            assert {place: counts.taken for place, counts in places.items()} == {
                place: ends[place] - self._begun.get(place, 0) for place in places
            }

    def run(self) -> None:
        """Run until there is nothing to do."""
        while self.batch():
            pass

    def dropped(self) -> dict[str, int]:
        """Return the number of dropped records, by reason."""
        found: Counter[str] = Counter()
        for report in self.reports:
            found.update(report.dropped)
        return dict(found)

    def published(self, topic: str) -> list[RawRecord]:
        """Return the records of a topic, partition by partition."""
        reader, log = self.connection.reader(), self.connection.log()
        count = log.ensure(topic, self._partitions).partitions
        return [
            record
            for partition in range(count)
            for record in reader.read(topic, partition, 0, log.end_offset(topic, partition))
        ]

    def _job(self, plan: Plan, parts: Parts, _: Versions) -> Sequence[Content]:
        messages: list[list[Message]] = [list(part) for part in parts.values()]
        for stage in self._query.stages():
            replies: list[Message] = []
            for part in messages:
                run = StageRun(stage, self._worker, self._number, plan.cuts)
                replies += run.messages(payload for _, payload in part)
            messages = [[m for m in replies if m[0] == n] for n in range(self._query.width)]
        return [Envelope.unpack(payload).content for part in messages for _, payload in part]
