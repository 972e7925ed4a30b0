"""A replica: a fork of an app that reads the input of the app's batches, and writes no results."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import uuid4

from kstreams.batch.batch_run import BatchRun, Parts
from kstreams.batch.io.open_feed import feed_of
from kstreams.batch.messages.envelope import Content, Envelope
from kstreams.batch.query_driver import QueryDriver
from kstreams.batch.task_counts import count_partitions, count_records, topic_span
from kstreams.batch.worker.stage_run import StageRun
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.batch.worker.worker_state import WorkerState
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.planning.plans import Plan
from kstreams.checkpoint.savepoint.fork import ForkSource
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.migration import Migration
from kstreams.checkpoint.start.opening import OpenedQuery, open_for_running
from kstreams.connection import Connection
from kstreams.global_tables.versions import Versions
from kstreams.graph.topology import Topology
from kstreams.ids import TopicPartition
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.working import StateBackend
from kstreams.state.log.commits import SEED, Commit
from kstreams.task.gc_pause import gc_pauses
from kstreams_explain.outside_calls import check_outside_calls, quiet_group
from kstreams_shadow.held_back import HeldBackFeed, held_back_group
from kstreams_shadow.shadow_home import ShadowHome, Side

__all__ = ("Replica", "ReplicaSettings", "Step")

_RETAINED = 50
"""The number of batches of a replica that `kstreams explain` can explain."""


@dataclass(frozen=True)
class Step:
    """A committed batch of the app, as input of the replicas.

    Attributes:
        positions: The offset up to which the app has processed each partition.
        wall_ms: The wall time of the batch, ms since the epoch.
        since_ms: The wall time at the start of the app's run, ms; None if it is not known.
        close_windows: Whether the batch closed the open windows.
        is_seed: Whether it is no batch, but the initial commit of an epoch.
    """

    positions: Mapping[TopicPartition, int]
    wall_ms: int
    since_ms: int | None = None
    close_windows: bool = False
    is_seed: bool = False


@dataclass(frozen=True)
class ReplicaSettings:
    """The topology of a replica, and the changes of its stores.

    Attributes:
        topology: The topology.
        migrate: Migrations by the name of the new store.
        reset: The names of stores whose old contents to drop.
        state: Backend of the stores.
        repeat_calls: Whether processors may call external systems.
    """

    topology: Topology
    migrate: Mapping[str, Migration] = field(default_factory=dict)
    reset: frozenset[str] = frozenset()
    state: StateBackend = field(default_factory=Memory)
    repeat_calls: bool = False


@dataclass
class _StepClock:
    """The clock of a replica: the wall time of the app's batch."""

    wall_ms: int = 0

    def now_ms(self) -> int:
        return self.wall_ms


class _ReplicaQuery:
    """Runs the batches of one query in this process."""

    def __init__(
        self, settings: QuerySettings, driver: QueryDriver, clock: _StepClock, worker: WorkerState
    ) -> None:
        self.settings, self.driver = settings, driver
        self._clock, self._worker = clock, worker
        self._batches = BatchRun(
            settings, planner=driver.planner, plans=driver.plans, fence=driver.fence
        )

    def run(self, step: Step, *, continued: bool) -> None:
        """Run the batches of a step.

        Args:
            step: The step.
            continued: Whether a run that was interrupted may have run the step before.
        """
        driver = self.driver
        known = driver.planner.positions
        until = {place: step.positions.get(place, at) for place, at in known.items()}
        self._clock.wall_ms = step.wall_ms
        if step.is_seed and driver.planner.reached(until):
            return
        if continued:
            if (pending := driver.planned(driver.next_batch)) is not None:
                self._run(pending)
            newest = driver.plans.newest()
            is_same = newest is not None and newest.wall_ms == step.wall_ms
            if is_same and driver.planner.reached(until):
                return
        if step.close_windows:
            driver.close_windows()
        while (plan := driver.next_plan(until)) is not None:
            since_ms = plan.since_ms if step.since_ms is None else step.since_ms
            made = replace(plan, wall_ms=step.wall_ms, since_ms=since_ms)
            self._run(driver.record(driver.next_batch, made))
            if driver.planner.reached(until):
                return

    def _run(self, plan: Plan) -> None:
        batch = self.driver.next_batch
        with gc_pauses():
            plan, statuses = self._batches.run(
                batch, plan, self.driver.last, partial(self._job, batch)
            )
            self.driver.commit(batch, plan, statuses, 0.0)

    def _job(self, batch: int, plan: Plan, parts: Parts, versions: Versions) -> Sequence[Content]:
        messages = [payload for part in parts.values() for _, payload in part]
        for stage in self.settings.stages():
            run = StageRun(stage, self._worker, batch, plan.cuts, versions)
            messages = [payload for _, payload in run.messages(messages)]
        return [Envelope.unpack(payload).content for payload in messages]


class Replica:
    """One side of a shadow; a context manager, which opens the replica.

    Args:
        home: The directory of the shadow.
        side: The side.
        app: The app id of the original app.
        source: The savepoint to start from, if the replica does not exist yet.
        settings: The topology of the replica.
        connection: The connection of the topics.
    """

    def __init__(
        self,
        home: ShadowHome,
        side: Side,
        app: str,
        source: ForkSource,
        settings: ReplicaSettings,
        connection: Connection,
    ) -> None:
        self.side: Side = side
        self.topology = settings.topology
        self._home, self._settings, self._connection = home, settings, connection
        self._app = AppSettings(
            f"{app}-shadow-{side}",
            home.replica(side),
            state=settings.state,
            max_bytes_per_batch=sys.maxsize,
            migrate=settings.migrate,
            reset=settings.reset,
            fork=source,
            retained_batches=_RETAINED,
        )
        self._queries: dict[str, _ReplicaQuery] = {}
        self._closing = ExitStack()

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint of the replica."""
        return Checkpoint.load(self._app.checkpoint)

    @property
    def objects(self) -> ObjectStore:
        """The durable log of the replica."""
        return (self._app.state.log or self.checkpoint.log).open()

    @property
    def queries(self) -> Mapping[str, frozenset[str]]:
        """The topics that each query reads, by the name of the query."""
        return {
            name: frozenset(node.topic.name for g in query.settings.groups for node in g.sources)
            for name, query in self._queries.items()
        }

    def __enter__(self) -> Replica:
        """Open the replica; create it from the savepoint first, if it does not exist.

        Raises:
            AppLockedError: Another process runs the shadow.
            CheckpointMismatchError: The topology would empty or misread stores.
            SavepointError: The savepoint does not exist.
        """
        with ExitStack() as opening:
            lock = self._app.checkpoint.lock()
            lock.acquire()
            opening.callback(lock.release)
            counts = count_partitions(self._connection, self.topology)
            parts = self._connection, self.topology
            opened = open_for_running(
                self._app,
                self.topology,
                counts.tasks,
                run=uuid4().hex[:12],
                publish=lambda _: None,
                records=partial(count_records, *parts),
                uneven=counts.uneven,
                span=partial(topic_span, *parts),
            )
            worker = WorkerState()
            opening.callback(worker.writers.close)
            for each in opened:
                query = self._query(each, counts.tasks, worker)
                opening.callback(query.driver.feed.close)
                query.driver.publish_last()
                self._queries[each.name] = query
            self._closing = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the replica."""
        self._closing.close()
        self._queries = {}

    def run(self, query: str, step: Step, *, continued: bool) -> None:
        """Run a step in one query.

        Args:
            query: The name of the query.
            step: The input.
            continued: Whether a run that was interrupted may have run the step before.

        Raises:
            KStreamsError: A task failed; the step can be repeated.
        """
        self._queries[query].run(step, continued=continued)

    def last(self, query: str) -> Commit | None:
        """Return the last commit of a query; None before the first one."""
        return self._queries[query].driver.last

    def last_batch(self, query: str) -> int:
        """Return the number of a query's last batch; -1 before the first one."""
        last = self.last(query)
        return SEED if last is None else last.batch

    def positions(self, query: str) -> Mapping[TopicPartition, int]:
        """Return the next offset of each partition that a query reads."""
        return dict(self._queries[query].driver.planner.positions)

    def _query(
        self, opened: OpenedQuery, tasks: Mapping[str, int], worker: WorkerState
    ) -> _ReplicaQuery:
        folder = self._home.results(self.side, opened.name)
        groups = tuple(quiet_group(held_back_group(group, folder)) for group in opened.groups)
        if not self._settings.repeat_calls:
            check_outside_calls(groups)
        opened = replace(opened, groups=groups)
        sources = [node for group in groups for node in group.sources]
        feed = HeldBackFeed(feed_of(self._connection, sources, reader=opened.state_name), folder)
        settings = QuerySettings.of(
            self._app.for_workers(),
            opened,
            feed.io,
            tasks,
            width=1,
            fingerprint=self.topology.fingerprint(),
        )
        clock = _StepClock()
        driver = QueryDriver(
            settings,
            opened,
            feed,
            clock=clock,
            fence=lambda: None,
            run=uuid4().hex[:12],
        )
        return _ReplicaQuery(settings, driver, clock, worker)
