"""The driver's side of one query: what its next batch does, and what makes a batch count."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from kstreams.batch.feed import Feed
from kstreams.batch.planner import BatchPlanner
from kstreams.batch.report import BatchReport
from kstreams.batch.stage_settings import QuerySettings
from kstreams.batch.task_status import TaskStatus
from kstreams.batch.task_timers import TaskTimers
from kstreams.checkpoint.opening import OpenedQuery
from kstreams.checkpoint.plans import Plan, PlanDirectory
from kstreams.clock import Clock, WatchedClock
from kstreams.errors import StateCorruptError
from kstreams.ids import TaskId, TopicPartition
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.log.commits import Commit
from kstreams.state.log.garbage import collect_garbage
from kstreams.state.log.pointer import Pointer

__all__ = ("QueryDriver",)

_LOG = logging.getLogger(__name__)
_SWEEP_EVERY = 50
_MIN_AGE = timedelta(hours=1)


class QueryDriver:
    """Plans the batches of one query and commits them, whatever runs their tasks.

    Each batch is planned, run and committed before the next is planned; so although planning
    and committing may be done by different threads, they are never under way together.

    Args:
        settings: The query's.
        opened: Its parts of the checkpoint, and where it goes on.
        feed: Its input and output.
        clock: The app's.
        fence: Raises `FencedError` when a newer driver has taken the checkpoint.
        run: Id of this driver.
        fingerprint: The topology's, recorded with each commit.

    Raises:
        TopicRecreatedError: A topic is not the one that was read.
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
        fingerprint: str,
    ) -> None:
        self._settings = settings
        self._opened = opened
        self._feed = feed
        self._clock = WatchedClock(clock)
        self.fence = fence
        self._run = run
        self._fingerprint = fingerprint
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
        self._last = resumed.last
        self._pending = -1 if resumed.pending is None else resumed.pending
        self._closing = False

    @property
    def name(self) -> str:
        """The query's name."""
        return self._settings.name

    @property
    def plans(self) -> PlanDirectory:
        """The plans of its batches."""
        return self._opened.plans

    @property
    def spark_notes(self) -> Path:
        """Where Spark keeps its own notes of the query."""
        return self._opened.spark_notes

    # ------------------------------------------------------------ planning

    def publish_last(self) -> None:
        """Publish what a crash may have left of the last commit, and remove what else it left."""
        if self._last is not None:
            self._feed.publish(self._last.outputs, self._last.batch)
        self._sweep_topics()

    def is_over(self, batch: int) -> bool:
        """Tell whether a batch that Spark begins was done, or passed over, before.

        Spark may have died before it noted that one is done; or its notes were lost, it begins
        to count again, and a later batch is planned already.
        """
        return (self._last is not None and batch <= self._last.batch) or batch < self._pending

    def planned(self, batch: int) -> Plan | None:
        """Return the plan that a batch has from before a crash, or None."""
        return self._opened.plans.find(batch)

    def next_plan(self, until: Mapping[TopicPartition, int] | None = None) -> Plan | None:
        """Return what the next batch does: records to read, tasks to call; None for nothing.

        Args:
            until: Where reading of each partition ends; the present ends by default.

        Raises:
            FencedError: A newer driver has taken the checkpoint.
            TopicRecreatedError: A topic is not the one that was read.
            DataLossError: A topic is shorter than what was read of it before.
            PartitionCountError: A topic has got more partitions.
        """
        plan = self.planner.next(until=until)
        now = self._clock.now_ms()
        closing, self._closing = self._closing, False
        called = self.timers.called(now, everyone=closing)
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
            after=None if self._last is None else self._last.id,
        )

    def record(self, batch: int, plan: Plan) -> Plan:
        """Make a plan that of a batch, durably; from then on it has to run.

        Raises:
            FencedError: Another driver has planned the batch.
        """
        return self._opened.plans.write(batch, plan)

    def close_windows(self) -> None:
        """Let the next batch close what is open in all tasks."""
        self._closing = True

    def end(self) -> dict[TopicPartition, int]:
        """Return the present end of the query's sources."""
        return self.planner.end()

    def reached(self, end: Mapping[TopicPartition, int], wall_ms: int) -> bool:
        """Tell whether everything before an end is planned, and no task is to be called.

        Args:
            end: Of each partition.
            wall_ms: Wall-clock work that is due by then counts too.
        """
        self._clock.now_ms()
        return not self._closing and not self.timers.due(wall_ms) and self.planner.reached(end)

    # ------------------------------------------------------------ committing

    def pointers(self) -> Mapping[TaskId, str]:
        """Return the pointer that counts of each task, as text."""
        return {} if self._last is None else self._last.tasks

    def commit(
        self, batch: int, plan: Plan, statuses: Sequence[TaskStatus], began: float
    ) -> BatchReport:
        """Make a batch count, then visible.

        Args:
            batch: Its number.
            plan: What it was run by.
            statuses: Of its tasks.
            began: When it began, by `time.perf_counter`.

        Raises:
            FencedError: A newer driver has taken the checkpoint; nothing counts.
        """
        commit = Commit(
            batch,
            self._run,
            self._clock.now_ms(),
            {**self.pointers(), **{status.task: status.pointer for status in statuses}},
            outputs=tuple(output for status in statuses for output in status.outputs),
            positions=plan.positions,
            fingerprint=self._fingerprint,
            after=None if self._last is None else self._last.id,
            plan=plan.digest,
            topics=plan.topics,
        )
        self.fence()
        commit = self._opened.commits.append(commit)
        self._feed.publish(commit.outputs, batch)
        self._last = commit
        for status in statuses:
            self.timers.note(status.task, status.wall_due_ms)
            self.planner.saw(status.sizes)
        if batch % _SWEEP_EVERY == _SWEEP_EVERY - 1:
            self.sweep()
            self._sweep_topics()
        return self._report(commit, statuses, began)

    def _report(self, commit: Commit, statuses: Sequence[TaskStatus], began: float) -> BatchReport:
        dropped: Counter[str] = Counter()
        for status in statuses:
            dropped.update(status.dropped)
        asked = self._opened.objects.take()
        report = BatchReport(
            self.name,
            commit.batch,
            records=sum(status.records for status in statuses),
            source_records=sum(status.source_records for status in statuses),
            dropped=dict(dropped),
            published=len(commit.outputs),
            seconds=time.perf_counter() - began,
            backlog=self.planner.backlog(),
            log=sum((status.log for status in statuses), asked),
        )
        _LOG.info("query %s, batch %d: durable log: %s", self.name, commit.batch, report.log)
        return report

    def sweep(self) -> None:
        """Remove commits, plans and state objects that are not needed any more.

        In this order: a savepoint that finds its commits in the log is seen here.
        """
        opened = self._opened
        kept = opened.commits.recent(self._settings.app.retained_batches)
        opened.commits.forget_before(kept[0].batch)
        opened.plans.forget_before(kept[0].batch)
        pointers: dict[TaskKey, list[Pointer]] = {}
        for commit in kept:
            for task, text in commit.tasks.items():
                key = self._settings.task_key(task)
                pointers.setdefault(key, []).append(Pointer.from_json(text))
        try:
            pinned = opened.named_elsewhere()
        except StateCorruptError as exc:
            _LOG.warning("query %s: nothing is cleaned up: %s", self.name, exc)
            return
        collect_garbage(
            opened.objects,
            pointers,
            clock=self._clock,
            min_age=_MIN_AGE,
            pinned=pinned,
            set_ms=self._clock.set_ms,
        )

    def _sweep_topics(self) -> None:
        """Remove what lost attempts have left in topics: all that counts is published."""
        before = self._clock.now_ms() - int(_MIN_AGE.total_seconds() * 1000)
        self._feed.sweep(self._settings.producers(), older_than_ms=before)
