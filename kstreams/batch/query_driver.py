"""The driver's part of one query: the plan of its next batch, and the commit of a batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from kstreams.batch.commit_of import commit_of, held_back
from kstreams.batch.commit_pipeline import CommitPipeline
from kstreams.batch.io.feed import Feed
from kstreams.batch.io.sink_publishing import prepare_sinks, publish_receipts
from kstreams.batch.io.sink_writers import sinks_of
from kstreams.batch.messages.task_status import TaskStatus
from kstreams.batch.planning.limits import QueryLimits
from kstreams.batch.planning.planner import BatchPlanner
from kstreams.batch.progress import COMMIT, PUBLISH, BatchProgress
from kstreams.batch.report import BatchReport
from kstreams.batch.reporting import report_of
from kstreams.batch.sweep_thread import SweepThread
from kstreams.batch.sweeping import MIN_AGE, Sweep
from kstreams.batch.task_moves import TaskPlaces
from kstreams.batch.task_timers import TaskTimers
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.planning.plans import Plan
from kstreams.checkpoint.start.opening import OpenedQuery
from kstreams.clock import Clock, WatchedClock
from kstreams.global_tables.versions import QueryTables
from kstreams.ids import TopicPartition
from kstreams.state.log.commits import SEED, Commit
from kstreams.task.times.holding import HeldBack

__all__ = ("QueryDriver",)

_SWEEP_EVERY = 50
_MOST_LOOPED_BYTES = 256 * 1024 * 1024
"""The maximum bytes of processed loop records before a clean-up removes them."""


class QueryDriver:
    """Plans the batches of one query and commits them, with any runner of their tasks.

    The next batch is planned after the commit of the current one, or by the committing thread while
    the commit is written to the log. So planning and committing may use different threads, but
    never run at the same time.

    Args:
        settings: The settings of the query.
        opened: The checkpoint and the positions of the query.
        feed: The input and output of the query.
        clock: The clock of the app.
        fence: Raises `FencedError` if a newer driver owns the checkpoint.
        run: The id of this driver.
        tables: The global tables that the query reads and writes.
        sweeps: The thread of clean-ups; None: `commit` runs them.

    Attributes:
        feed: The input and output, to close with the query.
        progress: The activity of the query, for any thread.

    Raises:
        TopicRecreatedError: A topic was deleted and created again after it was read.
        DataLossError: Records were deleted before they were read.
    """

    def __init__(
        self,
        settings: QuerySettings,
        opened: OpenedQuery,
        feed: Feed,
        *,
        clock: Clock,
        fence: Callable[[], None],
        run: str,
        tables: QueryTables | None = None,
        sweeps: SweepThread | None = None,
    ) -> None:
        self._settings = settings
        self._opened = opened
        self.feed = feed
        self._clock = WatchedClock(clock)
        self.progress = BatchProgress(clock)
        self.fence = fence
        self._run = run
        self._sinks = {
            name: sink for group in settings.groups for name, sink in sinks_of(group).items()
        }
        self.tables = tables or QueryTables()
        self._commits = CommitPipeline(opened, run)
        resumed = opened.resumed
        self.planner = BatchPlanner(
            feed,
            settings.groups,
            max_records=settings.app.max_records_per_batch,
            max_bytes=settings.app.max_bytes_per_batch,
            plans=opened.plans,
            positions=resumed.positions,
            topics=resumed.topics,
            start_ms=opened.start_ms,
        )
        self.timers = TaskTimers(settings.groups, settings.counts, self._clock, resumed.last)
        self._limits = QueryLimits(settings.groups, settings.counts)
        self._stop_sources()
        self._closing = False
        self._places = TaskPlaces()
        self._looped_bytes = 0
        self._sweeps = sweeps

    @property
    def name(self) -> str:
        """The query's name."""
        return self._settings.name

    @property
    def last(self) -> Commit | None:
        """The last commit; None before the first commit."""
        return self._commits.last

    @property
    def kept(self) -> tuple[int, ...]:
        """The batch numbers of plans that clean-up must not delete.

        For each of them, clean-up also keeps the commit of the previous batch.
        """
        return self._commits.kept

    @property
    def plans(self) -> PlanLog:
        """The plan log of the query."""
        return self._opened.plans

    # ------------------------------------------------------------ planning

    def publish_last(self) -> None:
        """Publish the remaining output of the last commit, and remove uncommitted output.

        Both may remain after a crash.

        Raises:
            SinkUnavailableError, SinkError: The destination of a sink is unavailable or unsuitable.
        """
        prepare_sinks(self._sinks)
        self.feed.prepare(self._settings.publisher, self._settings.first_topic, self.last)
        if self.last is not None:
            self._publish(self.last)
        self._opened.done.begin(SEED if self.last is None else self.last.batch)
        self._sweep_topics()

    def _publish(self, commit: Commit) -> None:
        self.feed.publish(commit, self._opened.objects, self.fence)
        publish_receipts(self._sinks, commit.receipts)

    @property
    def next_batch(self) -> int:
        """Number of the next batch: the planned one, or the one after the last commit."""
        return self._commits.next_batch

    def planned(self, batch: int) -> Plan | None:
        """Return the batch's plan, written before a crash or ahead of time; None without a plan.

        Raises:
            KStreamsError: Planning during the last commit failed.
        """
        return self._commits.planned(batch)

    @property
    def is_looping(self) -> bool:
        """Whether loops have records, which the next batch must process."""
        return self.last is not None and bool(self.last.loops)

    def next_plan(
        self, until: Mapping[TopicPartition, int] | None = None, *, news: bool = True
    ) -> Plan | None:
        """Return the next plan, with records to read and tasks to call; None without work.

        Args:
            until: The end offset of each partition; the current end by default.
            news: Whether to read topics; records in loops are always included.

        Raises:
            FencedError: A newer driver owns the checkpoint.
            TopicRecreatedError: A topic was deleted and created again after it was read.
            DataLossError: A topic ends before the offset up to which it was read.
            PartitionCountError: A topic has more partitions than before.
        """
        self.progress.planning()
        loops = self._settings.loops_by_task(() if self.last is None else self.last.loops)
        looped = sum(part.rows for parts in loops.values() for part in parts)
        wall = self._clock.now_ms()
        plan = self.planner.next(until=until, wall_ms=wall, besides=looped) if news else None
        now = self._clock.now_ms()
        closing, self._closing = self._closing, False
        called = [*loops, *self.timers.called(now, everyone=closing)]
        if plan is None and not called:
            return None
        if plan is None:
            plan = self.planner.plan({})
        self.fence()
        return replace(
            plan,
            tasks={**dict.fromkeys(called, ()), **plan.tasks},
            wall_ms=now,
            since_ms=self._clock.since_ms,
            close_windows=closing,
            after=None if self.last is None else self.last.id,
            globals=self.tables.pin(),
        )

    def record(self, batch: int, plan: Plan) -> Plan:
        """Write the plan of a batch durably, and return it; the batch must run from then on.

        Raises:
            FencedError: Another driver has planned the batch.
        """
        recorded = self._commits.record(batch, plan)
        self.progress.planned(batch)
        return recorded

    def close_windows(self) -> None:
        """Make the next batch close the open windows of all tasks."""
        self._closing = True

    def end(self) -> dict[TopicPartition, int]:
        """Return the current end offsets of the query's sources."""
        return self.planner.end()

    def reached(self, end: Mapping[TopicPartition, int], wall_ms: int) -> bool:
        """Return whether all records before an end are planned, and no task has further work.

        A task also has work if a loop has records for it.

        Args:
            end: The end offset of each partition.
            wall_ms: Wall-clock work due by this time must be done, too; ms since the epoch.
        """
        self._clock.now_ms()
        if self._closing or self.is_looping or self.timers.due(wall_ms):
            return False
        return self.planner.reached(end)

    def is_finished(self) -> bool:
        """Return whether the sources can have no unplanned records, and loops are empty."""
        return not self.is_looping and self.planner.is_finished()

    # ------------------------------------------------------------ committing

    def commit(
        self,
        batch: int,
        plan: Plan,
        statuses: Sequence[TaskStatus],
        began: float,
        ahead: Callable[[], Plan | None] = lambda: None,
    ) -> BatchReport:
        """Commit a batch, then publish it; during a slow write to the log, plan the next one.

        Args:
            batch: The number of the batch.
            plan: The plan of the batch.
            statuses: The statuses of its tasks.
            began: The start of the batch, by `time.perf_counter`.
            ahead: Returns the plan of the next batch, as `next_plan`; None without work.

        Raises:
            FencedError: A newer driver owns the checkpoint; nothing is published.
        """
        self.progress.enter(COMMIT, batch)
        if self._sweeps is not None:
            self._sweeps.check()
        held = held_back(statuses)
        commit = commit_of(
            batch, self._run, self._clock.now_ms(), plan, statuses, self.last, self._settings
        )

        def accept(accepted: Commit) -> None:
            self._accept(accepted, statuses, held, began)

        def plan_next() -> None:
            if (found := ahead()) is not None:
                self.record(batch + 1, replace(found, ahead=True))

        self.fence()
        done = self._commits.commit(commit, accept, plan_next)
        if done is None:
            return self._report(self._adopt(batch), plan, (), began)
        self.fence()  # others may have deleted the plans and commits that fence a driver that hung
        self.progress.enter(PUBLISH, batch)
        self._publish(done)
        self._opened.done.note(batch)
        self.tables.committed(done)
        if batch % _SWEEP_EVERY == _SWEEP_EVERY - 1 or self._looped_bytes > _MOST_LOOPED_BYTES:
            self.sweep()
            self._sweep_topics()
        return self._report(done, plan, statuses, began)

    def failure(self, batch: int, error: Exception) -> Exception:
        """Return the error of a failed batch, or a `FencedError` if another driver committed it."""
        return self._commits.failure(batch, error)

    def _stop_sources(self) -> None:
        """Stop reading sources whose records reach only `limit` nodes that forward no more."""
        if self._limits.any and self.last is not None:
            self.planner.stopped = self._limits.stopped(self._limits.passed(self.last.tasks))

    def _accept(
        self,
        commit: Commit,
        statuses: Sequence[TaskStatus],
        held: Mapping[TopicPartition, HeldBack],
        began: float,
    ) -> None:
        """Update timers, planner and sources, so that the next batch can be planned."""
        self._stop_sources()
        for status in statuses:
            self.timers.note(status.task, status.wall_due_ms)
        took = time.perf_counter() - began
        self.planner.done([status.sizes for status in statuses], held, took)
        self._looped_bytes += sum(part.length for part in commit.sent)

    def _adopt(self, batch: int) -> Commit:
        """Continue after the commit that an older driver wrote first; return this commit."""
        commit, position = self._commits.adopt(batch, self._publish)
        self.planner.positions.update(position.positions)
        self._stop_sources()
        self.timers = TaskTimers(
            self._settings.groups, self._settings.counts, self._clock, position.last
        )
        if position.last is not None:
            self.tables.committed(position.last)
        return commit

    def _report(
        self, commit: Commit, plan: Plan, statuses: Sequence[TaskStatus], began: float
    ) -> BatchReport:
        return report_of(
            self.name,
            commit,
            statuses,
            seconds=time.perf_counter() - began,
            planned_ms=plan.wall_ms,
            times=self.progress.done(commit.batch),
            lag=self.planner.behind(),
            log=self._opened.objects.take(),
            moves=self._places.moved(statuses),
        )

    def sweep(self) -> None:
        """Remove commits, plans and state objects that are not needed any more."""
        self._looped_bytes = 0
        sweep = Sweep(self._settings, self._opened, self.tables, self._clock)
        run = partial(sweep.run, None if self.last is None else self.last.batch, self.kept)
        if self._sweeps is None:
            run()
        else:
            self._sweeps.begin(run)

    def close(self, timeout_s: float) -> None:
        """Wait for a clean-up that is running, and release the resources of the feed.

        Args:
            timeout_s: The maximum time to wait, in seconds.
        """
        if self._sweeps is not None:
            self._sweeps.finish(timeout_s)
        self.feed.close()

    def _sweep_topics(self) -> None:
        """Remove files of lost attempts from topics, after the committed output is published."""
        before = self._clock.now_ms() - int(MIN_AGE.total_seconds() * 1000)
        self.feed.sweep(self._settings.producers(), older_than_ms=before)
