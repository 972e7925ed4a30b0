"""One streaming query: the chained stages of groups that repartition edges join."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's own custom
from pyspark.sql.streaming.state import GroupStateTimeout

from kstreams.clock import Clock, to_ms
from kstreams.errors import ExecutionError
from kstreams.spark.envelope import DRIVER, ROW_SCHEMA, Envelope
from kstreams.spark.failure import find_failure, jvm_is_gone, typed
from kstreams.spark.feed import Feed
from kstreams.spark.plans import Plan, PlanDirectory
from kstreams.spark.report import BatchReport
from kstreams.spark.stage import STATE_SCHEMA, Stage, StageSettings
from kstreams.state.commits import SEED, Commit, CommitLog, Output
from kstreams.state.garbage import collect_garbage
from kstreams.state.pointer import Pointer
from kstreams.state.task_key import TaskKey
from kstreams.state.traffic import CountedObjects, Traffic

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ("Pipeline", "PipelineSettings")

_LOG = logging.getLogger("kstreams")
_PLANS_AHEAD = 2
_SWEEP_EVERY = 50
_MIN_AGE = timedelta(hours=1)
_SPARK_COMMITS_WITHIN = 10.0
_POLL_SECONDS = 0.005


@dataclass(frozen=True)
class PipelineSettings:
    """What a pipeline is told by its app.

    Attributes:
        name: The query's name.
        path: Its directory below the checkpoint.
        run: Id of this driver.
        trigger: Least time between the starts of two batches.
        stages: Settings of each stage; seeds and replay are filled in at the start.
        archives: Names of the user's packages on executors.
        fingerprint: The topology's, recorded with each commit.
        retained: How many commits stay readable from outside.
    """

    name: str
    path: Path
    run: str
    trigger: timedelta
    stages: tuple[StageSettings, ...]
    archives: tuple[str, ...]
    fingerprint: str
    retained: int


class Pipeline:
    """Runs one query: plans its batches, commits them, and notices how it ends.

    Args:
        settings: See there.
        feed: Its input and output.
        plans: Its plan directory.
        commits: Its commit log.
        objects: The durable log, for the sweep of what no commit names.
        pinned: Returns the names of the objects that the sweep has to leave alone besides.
        clock: The app's.
        report: Called after each commit, in Spark's callback thread.
    """

    def __init__(
        self,
        settings: PipelineSettings,
        feed: Feed,
        *,
        plans: PlanDirectory,
        commits: CommitLog,
        objects: CountedObjects,
        pinned: Callable[[], Collection[str]],
        clock: Clock,
        report: Callable[[BatchReport, Sequence[str]], None],
    ) -> None:
        self._settings = settings
        self._feed = feed
        self._plans = plans
        self._commits = commits
        self._objects = objects
        self._pinned = pinned
        self._clock = clock
        self._report = report
        self._keys = settings.stages[0].keys
        self._pause = settings.trigger.total_seconds()
        self._mutex = threading.Lock()
        self._idle = threading.Event()
        self._idle.set()
        self._stopping = False
        self._failure: BaseException | None = None
        self._query: StreamingQuery | None = None
        self._last = commits.last()
        self._tasks: dict[str, str] = dict(self._last.tasks) if self._last else {}
        self._planned = plans.last_number()
        self._starts: dict[str, int] | None = None
        self._done = self._last.plan if self._last else -1
        self._due: dict[tuple[int, int], int] = {}
        self._called: set[tuple[int, int]] = set()
        self._planned_at = float("-inf")
        self._since = clock.now_ms()
        self._close_windows = False
        self._call_all = self._last is None or any(
            meta.get("due") or "heard" in meta
            for meta in (Pointer.from_json(text).meta for text in self._tasks.values())
        )

    @property
    def name(self) -> str:
        """The query's name."""
        return self._settings.name

    def start(self, session: SparkSession) -> None:
        """Publish what the last commit may have left, then start the query."""
        last = self._last
        if last is not None and not self._spark_has_committed(last.batch):
            self._feed.publish(last.outputs, last.batch)
        self._query = (
            self._frame(session)
            .writeStream.queryName(f"{self._settings.stages[0].app}/{self.name}")
            .outputMode("update")
            .foreachBatch(self._on_batch)
            .option("checkpointLocation", str(self._settings.path / "spark"))
            .trigger(processingTime=f"{to_ms(self._settings.trigger)} milliseconds")
            .start()
        )

    def _frame(self, session: SparkSession) -> DataFrame:
        """Chain the stages; each takes the messages of the one before, and its own source."""
        keys = self._keys
        plans = session.readStream.schema("stage int, key int, payload string")
        frame = (
            plans.option("maxFilesPerTrigger", 1)
            .option("maxFileAge", "1h")  # by the plans' own modification times: 3,600 plans
            .json(str(self._plans.path))
            .where("payload is not null")
            .select("stage", "key", F.unbase64("payload").alias("payload"))
        )
        for number, settings in enumerate(self._settings.stages):
            if number:
                # A projection that the optimiser cannot remove: without it Spark hands
                # columnar rows to the next shuffle, which cannot cast them.
                key = F.coalesce("key", F.lit(-1)).alias("key")
                frame = frame.select("stage", key, "payload")
            own = self._feed.rows(session, number, keys)
            frame = frame if own is None else frame.unionByName(own)
            frame = frame.groupBy("key").applyInPandasWithState(
                Stage(settings, self._settings.archives),
                ROW_SCHEMA,
                STATE_SCHEMA,
                "update",
                GroupStateTimeout.NoTimeout,
            )
        return frame

    # ------------------------------------------------------------ planning, in the app's thread

    def tick(self, *, until: Mapping[str, int] | None = None) -> None:
        """Plan the next batch, if one is wanted and the last ones are under way.

        Raises:
            KStreamsError: The query has failed.
        """
        self.check()
        with self._mutex:
            waiting = self._planned - self._done
        began = time.monotonic()
        if waiting >= _PLANS_AHEAD or began - self._planned_at < self._pause:
            return
        plan = self._with_calls(self._feed.next_plan(until), self._clock.now_ms())
        if plan is None:
            return
        self._planned += 1
        self._plans.write(self._planned, plan, self._keys)
        self._planned_at = began

    def _with_calls(self, plan: Plan | None, now: int) -> Plan | None:
        """Add calls of tasks whose wall-clock work is due."""
        closing, self._close_windows = self._close_windows, False
        with self._mutex:
            called = {t for t, due in self._due.items() if due <= now and t not in self._called}
            self._called |= called
        if self._call_all or closing:
            self._call_all = False
            counts = self._settings.stages[0].counts
            called |= {(s, t) for s, count in enumerate(counts) for t in range(count)}
        if plan is None and not called:
            return None
        tasks = dict.fromkeys(sorted(called), ())
        if plan is None:
            plan = Plan({}, self._feed.positions())
        return replace(
            plan,
            tasks={**tasks, **plan.tasks},
            wall_ms=now,
            since_ms=self._since,
            close_windows=closing,
        )

    def close_windows(self) -> None:
        """Let the next batch close what is open in all tasks."""
        self._close_windows = True

    def end(self) -> dict[str, int]:
        """Return the present end of the pipeline's sources."""
        return self._feed.end()

    def reached(self, end: Mapping[str, int], wall_ms: int) -> bool:
        """Tell whether everything before an end is committed, and nothing is under way.

        Args:
            end: By `topic/partition`.
            wall_ms: Wall-clock work that is due by then counts too.
        """
        self.check()
        with self._mutex:
            if self._planned > self._done or self._call_all or self._close_windows:
                return False
            if any(due <= wall_ms for due in self._due.values()):
                return False
        return self._feed.reached(end) and self._idle.is_set()

    # ------------------------------------------------------------ committing, in Spark's callback

    def _on_batch(self, frame: DataFrame, batch: int) -> None:
        self._idle.clear()
        try:
            self._refuse_when_stopping(batch)
            began = time.perf_counter()
            statuses = [
                envelope.header
                for row in frame.collect()
                if (envelope := Envelope.unpack(bytes(row.payload))).stage == DRIVER
            ]
            self._commit(batch, statuses, began)
        except _StoppedError:
            raise
        except Exception as exc:  # noqa: BLE001  # kept, and raised in the app's thread
            self._failure = find_failure(exc) or exc
            raise _StoppedError(f"batch {batch} of query {self.name!r} failed") from None
        finally:
            self._idle.set()

    def _refuse_when_stopping(self, batch: int) -> None:
        if self._stopping:
            raise _StoppedError(f"query {self.name!r} stops before batch {batch}")

    def _commit(self, batch: int, statuses: Sequence[Mapping[str, Any]], began: float) -> None:
        last = self._last
        commit = last if last is not None and batch <= last.batch else None
        if commit is None:
            commit = self._append(batch, statuses)
        if commit.batch == batch:  # else Spark is behind by several, and all is published
            self._feed.publish(commit.outputs, batch)
        with self._mutex:
            self._last = commit
            self._tasks = dict(commit.tasks)
            self._done = max(self._done, commit.plan)
            for status in statuses:
                self._note_due(status)
        if batch % _SWEEP_EVERY == _SWEEP_EVERY - 1:
            self._sweep()
        dropped: dict[str, int] = {}
        for status in statuses:
            for reason, count in status.get("dropped", {}).items():
                dropped[reason] = dropped.get(reason, 0) + count
        traffic = [Traffic.from_json(status["log"]) for status in statuses if "log" in status]
        report = BatchReport(
            self.name,
            batch,
            records=sum(status.get("records", 0) for status in statuses),
            source_records=sum(status.get("sources", 0) for status in statuses),
            dropped=dropped,
            published=len(commit.outputs),
            seconds=time.perf_counter() - began,
            backlog=self._feed.backlog(),
            log=sum(traffic, self._objects.take()),
        )
        _LOG.info("query %s, batch %d: durable log: %s", self.name, batch, report.log)
        self._report(report, [line for s in statuses for line in s.get("lines", ())])

    def _append(self, batch: int, statuses: Sequence[Mapping[str, Any]]) -> Commit:
        tasks = {**self._tasks, **{status["task"]: status["pointer"] for status in statuses}}
        outputs = tuple(Output(*row) for status in statuses for row in status.get("outputs", ()))
        plan = max((s["plan"] for s in statuses if s["plan"] is not None), default=self._done)
        commit = Commit(
            batch,
            self._settings.run,
            self._clock.now_ms(),
            tasks,
            plan=plan,
            outputs=outputs,
            positions=self._positions(plan),
            fingerprint=self._settings.fingerprint,
        )
        self._commits.append(commit)
        return commit

    def _positions(self, plan: int) -> dict[str, int]:
        if self._starts is None:
            first = {} if self._last is None else self._last.positions
            self._starts = {**first, **self._feed.starts()}
        return {**self._starts, **(self._plans.positions_after(plan) if plan >= 0 else {})}

    def _note_due(self, status: Mapping[str, Any]) -> None:
        if status.get("replayed"):  # then the call of all tasks at the start tells
            return
        group, _, partition = status["task"].rpartition("/")
        names = [stage.group.name for stage in self._settings.stages]
        task = (names.index(group), int(partition))
        self._called.discard(task)
        if status["due"] is None:
            self._due.pop(task, None)
        else:
            self._due[task] = status["due"]

    def _sweep(self) -> None:
        """Remove commits, plans and state objects that nobody can need any more.

        In this order: a savepoint that finds its commits in the log is seen here.
        """
        kept = self._commits.recent(self._settings.retained)
        self._commits.forget_before(kept[0].batch)
        self._plans.forget_before(kept[0].plan)
        pointers: dict[TaskKey, list[Pointer]] = {}
        for commit in kept:
            for name, text in commit.tasks.items():
                group, _, partition = name.rpartition("/")
                key = self._settings.stages[0].task_key(group, int(partition))
                pointers.setdefault(key, []).append(Pointer.from_json(text))
        collect_garbage(
            self._objects, pointers, clock=self._clock, min_age=_MIN_AGE, pinned=self._pinned()
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
        self._stopping = True
        query = self._query
        if query is None:
            return
        self._idle.wait(timeout.total_seconds())
        try:
            self._await_spark(query)
            if query.isActive:
                query.stop()
        except (Py4JError, ConnectionError) as exc:
            if not jvm_is_gone(exc):  # and the query with it
                raise
        self._query = None

    def _await_spark(self, query: StreamingQuery) -> None:
        """Let Spark commit the last batch too, or it would run it again at the next start."""
        last, end = self._last, time.monotonic() + _SPARK_COMMITS_WITHIN
        while last is not None and not self._spark_has_committed(last.batch):
            if time.monotonic() > end or not query.isActive:
                return
            time.sleep(_POLL_SECONDS)

    def _spark_has_committed(self, batch: int) -> bool:
        return batch == SEED or (self._settings.path / "spark" / "commits" / str(batch)).exists()


class _StoppedError(Exception):
    """Ends a query from inside its callback; short, because Spark searches its text."""
