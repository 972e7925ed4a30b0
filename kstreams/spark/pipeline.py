"""One streaming query: the chained stages of groups that repartition edges join."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from kstreams.batch.feed import Feed
from kstreams.batch.planner import BatchPlanner
from kstreams.batch.report import BatchReport
from kstreams.batch.task_status import TaskStatus
from kstreams.checkpoint.plans import Plan, PlanDirectory
from kstreams.checkpoint.resume import Resumption
from kstreams.clock import Clock, WatchedClock
from kstreams.errors import ExecutionError, StateCorruptError
from kstreams.ids import TaskId, TopicPartition
from kstreams.spark.batch_jobs import BatchJobs
from kstreams.spark.failure import jvm_is_gone, typed
from kstreams.spark.pipeline_settings import PipelineSettings
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.log.commits import Commit, CommitLog
from kstreams.state.log.garbage import collect_garbage
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.traffic import CountedObjects

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ("Pipeline",)

_LOG = logging.getLogger("kstreams")
_SWEEP_EVERY = 50
_MIN_AGE = timedelta(hours=1)
_POLL_SECONDS = 0.005
_INTERRUPTED = (
    "py4j.protocol.Py4JJavaError: An error occurred while calling stop: "
    "java.lang.InterruptedException"
)
"""A text that Spark takes for its own interruption: a batch that is stopped has not failed."""


class Pipeline:
    """Runs one query: plans its batches, commits them, and notices how it ends.

    Spark begins batch after batch; each waits in its callback until the app's thread has
    planned what it reads. So a plan knows all that has come until then.

    Args:
        settings: See there.
        feed: Its input and output.
        planner: Decides which records a batch reads.
        resumed: Where the query goes on.
        plans: Its plan directory.
        commits: Its commit log.
        objects: The durable log, for the sweep of what no commit names.
        pinned: Returns the names of the objects that the sweep has to leave alone besides.
        clock: The app's.
        fence: Raises `FencedError` when a newer driver has taken the checkpoint.
        report: Called after each commit, in Spark's callback thread.
        wanted: Set when a plan is wanted.
    """

    def __init__(
        self,
        settings: PipelineSettings,
        feed: Feed,
        planner: BatchPlanner,
        *,
        resumed: Resumption,
        plans: PlanDirectory,
        commits: CommitLog,
        objects: CountedObjects,
        pinned: Callable[[], Collection[str]],
        clock: Clock,
        fence: Callable[[], None],
        report: Callable[[BatchReport, Sequence[str]], None],
        wanted: threading.Event,
    ) -> None:
        self._settings = settings
        self._feed = feed
        self._planner = planner
        self._plans = plans
        self._commits = commits
        self._objects = objects
        self._pinned = pinned
        self._clock = WatchedClock(clock)
        self._called_for: int | None = None  # when the clock was set, if tasks were called for it
        self._fence = fence
        self._report = report
        self._wanted = wanted
        self._groups = [stage.group.name for stage in settings.stages]
        self._jobs = BatchJobs(
            settings.name,
            settings.stages,
            settings.archives,
            planner=planner,
            plans=plans,
            fence=fence,
            stopping=lambda: self._stopping,
        )
        self._pause = settings.trigger.total_seconds()
        self._waits = threading.Event()  # a batch has no plan yet
        self._given = threading.Event()  # it has one, or the query is to stop
        self._handing = threading.Lock()
        self._planned_at = float("-inf")
        self._number = -1  # of the batch that waits
        self._plan: Plan | None = None  # its plan
        self._stopping = False
        self._failure: BaseException | None = None
        self._query: StreamingQuery | None = None
        self._last = resumed.last
        self._pending = -1 if resumed.pending is None else resumed.pending
        self._due: dict[tuple[int, int], int] = {}
        self._close_windows = False
        self._call_all = self._last is None or any(
            meta.get("due") or "heard" in meta
            for meta in (pointer.meta for pointer in self._last.pointers().values())
        )

    @property
    def name(self) -> str:
        """The query's name."""
        return self._settings.name

    def start(self, session: SparkSession) -> None:
        """Publish what the last commit may have left, then start the query."""
        last = self._last
        if last is not None:
            self._feed.publish(last.outputs, last.batch)
        if self._settings.own_workers:
            self._jobs.use_own_workers(session.sparkContext)
        ticks = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
        self._query = (
            ticks.writeStream.queryName(f"{self._settings.stages[0].app}/{self.name}")
            .foreachBatch(self._on_batch)
            .option("checkpointLocation", self._settings.checkpoint)
            .trigger(processingTime="0 seconds")
            .start()
        )

    # ------------------------------------------------------------ planning, in the app's thread

    def tick(self, *, until: Mapping[TopicPartition, int] | None = None) -> None:
        """Plan the batch that waits, if there is one and something to do for it.

        Args:
            until: Where reading of each partition ends; the present ends by default.

        Raises:
            KStreamsError: The query has failed.
            FencedError: A newer driver has taken the checkpoint.
        """
        self.check()
        began = time.monotonic()
        if not self._waits.is_set() or began - self._planned_at < self._pause:
            return
        plan = self._with_calls(self._planner.next(until=until), self._clock.now_ms())
        if plan is None:
            return
        self._fence()
        with self._handing:  # no plan that its batch does not see
            if not self._stopping:
                self._plan = self._plans.write(self._number, plan)
                self._planned_at = began
                self._waits.clear()
                self._given.set()

    def _with_calls(self, plan: Plan | None, now: int) -> Plan | None:
        """Add calls of tasks whose wall-clock work is due, or of all when the clock was set."""
        called = {task for task, due in self._due.items() if due <= now}
        self._notice_set_clock()
        closing, self._close_windows = self._close_windows, False
        if self._call_all or closing:
            self._call_all = False
            counts = self._settings.stages[0].counts
            called |= {(s, t) for s, count in enumerate(counts) for t in range(count)}
        if plan is None and not called:
            return None
        tasks = dict.fromkeys(sorted(called), ())
        if plan is None:
            plan = self._planner.plan({})
        return replace(
            plan,
            tasks={**tasks, **plan.tasks},
            wall_ms=now,
            since_ms=self._clock.since_ms,
            close_windows=closing,
            after=None if self._last is None else self._last.id,
        )

    def _notice_set_clock(self) -> None:
        """Call all tasks once behind a jump: what they are due at may lie far ahead."""
        if self._clock.set_ms != self._called_for:
            self._called_for = self._clock.set_ms
            self._call_all = True
            _LOG.warning(
                "query %s: the wall clock was set, to %d ms since the epoch: idleness begins anew",
                self.name,
                self._clock.since_ms,
            )

    def close_windows(self) -> None:
        """Let the next batch close what is open in all tasks."""
        self._close_windows = True

    def end(self) -> dict[TopicPartition, int]:
        """Return the present end of the pipeline's sources."""
        return self._planner.end()

    def reached(self, end: Mapping[TopicPartition, int], wall_ms: int) -> bool:
        """Tell whether everything before an end is committed, and nothing is under way.

        Args:
            end: Of each partition.
            wall_ms: Wall-clock work that is due by then counts too.
        """
        self.check()
        self._clock.now_ms()
        self._notice_set_clock()
        if not self._waits.is_set() or self._call_all or self._close_windows:
            return False
        if any(due <= wall_ms for due in self._due.values()):
            return False
        return self._planner.reached(end)

    # ------------------------------------------------------------ running, in Spark's callback

    def _on_batch(self, frame: DataFrame, batch: int) -> None:
        try:
            last = self._last
            if last is not None and batch <= last.batch:
                return  # Spark died before it noted that this one is done
            if batch < self._pending:
                return  # Spark was begun again, and a later one is planned already
            plan = self._plan_of(batch)
            if plan is None:
                self._await_end()
                return  # a batch without a plan changes nothing, whether Spark notes it or not
            began = time.perf_counter()
            spark = frame.sparkSession.sparkContext
            plan, statuses = self._jobs.run(spark, batch, plan, self._pointers())
            self._commit(batch, plan, statuses, began)
        except _StoppedError:
            raise
        except Exception as exc:  # noqa: BLE001  # kept, and raised in the app's thread
            if self._stopping:
                self._await_end()
                raise _StoppedError(_INTERRUPTED) from None
            self._failure = self._jobs.error_in(exc) or exc
            raise _StoppedError(f"batch {batch} of query {self.name!r} failed") from None

    def _plan_of(self, batch: int) -> Plan | None:
        """Return what a batch reads: as it was planned before a crash, or now; None to stop."""
        known = self._plans.find(batch)
        if known is not None:
            return known
        self._number = batch
        self._plan = None
        self._given.clear()
        self._waits.set()
        self._wanted.set()
        if not self._stopping:
            self._given.wait()
        return self._plan  # a plan that is written has to run, also in the face of a stop

    def _await_end(self) -> None:
        """Keep Spark from another batch until the query is stopped."""
        self._waits.set()
        while self._query is None or self._query.isActive:
            time.sleep(_POLL_SECONDS)

    def _pointers(self) -> Mapping[TaskId, str]:
        """Return the pointer that counts of each task, as text."""
        return {} if self._last is None else self._last.tasks

    def _commit(self, batch: int, plan: Plan, statuses: Sequence[TaskStatus], began: float) -> None:
        """Make a batch count, then visible."""
        commit = Commit(
            batch,
            self._settings.run,
            self._clock.now_ms(),
            {**self._pointers(), **{status.task: status.pointer for status in statuses}},
            outputs=tuple(output for status in statuses for output in status.outputs),
            positions=plan.positions,
            fingerprint=self._settings.fingerprint,
            after=None if self._last is None else self._last.id,
            plan=plan.digest,
            topics=plan.topics,
        )
        self._fence()
        commit = self._commits.append(commit)
        self._feed.publish(commit.outputs, batch)
        self._last = commit
        for status in statuses:
            self._note_due(status)
            self._planner.saw(status.sizes)
        if batch % _SWEEP_EVERY == _SWEEP_EVERY - 1:
            self._sweep()
        dropped: Counter[str] = Counter()
        for status in statuses:
            dropped.update(status.dropped)
        report = BatchReport(
            self.name,
            batch,
            records=sum(status.records for status in statuses),
            source_records=sum(status.source_records for status in statuses),
            dropped=dict(dropped),
            published=len(commit.outputs),
            seconds=time.perf_counter() - began,
            backlog=self._planner.backlog(),
            log=sum((status.log for status in statuses), self._objects.take()),
        )
        _LOG.info("query %s, batch %d: durable log: %s", self.name, batch, report.log)
        self._report(report, [line for status in statuses for line in status.lines])

    def _note_due(self, status: TaskStatus) -> None:
        task = (self._groups.index(status.task.group), status.task.partition)
        if status.wall_due_ms is None:
            self._due.pop(task, None)
        else:
            self._due[task] = status.wall_due_ms

    def _sweep(self) -> None:
        """Remove commits, plans and state objects that nobody can need any more.

        In this order: a savepoint that finds its commits in the log is seen here.
        """
        kept = self._commits.recent(self._settings.retained)
        self._commits.forget_before(kept[0].batch)
        self._plans.forget_before(kept[0].batch)
        pointers: dict[TaskKey, list[Pointer]] = {}
        for commit in kept:
            for task, text in commit.tasks.items():
                key = self._settings.stages[0].task_key(task)
                pointers.setdefault(key, []).append(Pointer.from_json(text))
        try:
            pinned = self._pinned()
        except StateCorruptError as exc:
            _LOG.warning("query %s: nothing is cleaned up: %s", self.name, exc)
            return
        collect_garbage(
            self._objects,
            pointers,
            clock=self._clock,
            min_age=_MIN_AGE,
            pinned=pinned,
            set_ms=self._clock.set_ms,
        )

    # ------------------------------------------------------------ ending

    def check(self) -> None:
        """Raise what ended the query, if something did.

        Raises:
            KStreamsError: Typed, with the place where it happened.
        """
        query = self._query
        ended = query is not None and not self._stopping and not query.isActive
        if self._failure is not None:  # asked after the query, which ends by it
            raise typed(self._failure)
        if query is not None and ended:
            found = query.exception()
            raise typed(found or ExecutionError(f"query {self.name!r} ended by itself"))

    def stop(self, timeout: timedelta) -> None:
        """Let the batch under way end, then stop the query.

        Args:
            timeout: How long to wait for the batch; then it is stopped all the same, and
                comes again at the next start.
        """
        with self._handing:
            self._stopping = True
        self._given.set()
        query = self._query
        if query is None:
            return
        try:
            end = time.monotonic() + timeout.total_seconds()
            while query.isActive and not self._waits.is_set() and time.monotonic() < end:
                self._waits.wait(_POLL_SECONDS)
            if query.isActive:
                query.stop()
        except (Py4JError, ConnectionError) as exc:
            if not jvm_is_gone(exc):  # and the query with it
                raise
        self._query = None


class _StoppedError(Exception):
    """Ends a query from inside its callback; short, because Spark searches its text."""
