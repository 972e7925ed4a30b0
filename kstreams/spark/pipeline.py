"""One streaming query: the chained stages of groups that repartition edges join."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from kstreams.batch.query_driver import QueryDriver
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.checkpoint.planning.plans import Plan
from kstreams.errors import ExecutionError, KStreamsError
from kstreams.graph.nodes import SourceNode
from kstreams.ids import TopicPartition
from kstreams.scratch import scratch_directory
from kstreams.spark.app_parts import AppParts
from kstreams.spark.batch_jobs import BatchJobs
from kstreams.spark.failure import jvm_is_gone, typed
from kstreams.spark.query_loop import BatchTurns
from kstreams.telemetry.log_context import log_context

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ("Pipeline",)

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 0.005
_PATIENCE_SECONDS = 0.05
"""The time for which workers are kept without a plan."""
_LAST_SECONDS = 5.0
"""The maximum time for the batch thread to end after its query."""
_INTERRUPTED = (
    "py4j.protocol.Py4JJavaError: An error occurred while calling stop: "
    "java.lang.InterruptedException"
)
"""A text that Spark treats as its own interruption: a stopped batch does not count as failed."""


class Pipeline:
    """Runs one query on Spark, and detects its end.

    Batches run one after another in the thread of the query, while one Spark batch covers many of
    them (`BatchTurns`). Each batch waits in that thread until the app's thread has planned it, so a
    plan includes all records up to that time.

    Args:
        settings: The settings of the query.
        driver: Plans and commits the batches.
        parts: The shared objects of the app.
        import_path: Folders of the user's modules on executors.
        pinned: Whether each Spark partition of the first stage, which reads topics, keeps its
            Python worker: one executor runs all partitions at the same time.
        standing: Whether the workers may keep Spark's cores from batch to batch: the executor is
            the driver process, and no other query of the app needs the cores.
    """

    def __init__(
        self,
        settings: QuerySettings,
        driver: QueryDriver,
        parts: AppParts,
        *,
        import_path: tuple[str, ...],
        pinned: bool,
        standing: bool,
    ) -> None:
        self.driver = driver
        self._settings = settings
        self._parts = parts
        self._pinned = pinned
        self._standing = standing
        self._jobs = BatchJobs(
            settings,
            import_path,
            planner=driver.planner,
            plans=driver.plans,
            fence=driver.fence,
            tables=driver.tables,
            progress=driver.progress,
            stopping=lambda: self._stopping,
        )
        self._turns = BatchTurns(self.run_batch, f"query-{settings.name}")
        self._pause = settings.app.trigger.total_seconds()
        self._waits = threading.Event()  # a batch has no plan yet
        self._given = threading.Event()  # it has one, or the query is to stop
        self._rests = threading.Event()  # no batch runs any more, and Spark knows
        self._handing = threading.Lock()
        self._planned_at = float("-inf")
        self._until: Mapping[TopicPartition, int] | None = None  # the end of the last tick
        self._ticks = False  # whether to continue
        self._number = -1  # the number of the pending batch
        self._plan: Plan | None = None  # its plan
        self._stopping = False
        self._failure: BaseException | None = None
        self._query: StreamingQuery | None = None
        self._scratch = ExitStack()

    @property
    def name(self) -> str:
        """The query's name."""
        return self._settings.name

    @property
    def sources(self) -> tuple[SourceNode, ...]:
        """The sources that the query reads."""
        return tuple(node for group in self._settings.groups for node in group.sources)

    @property
    def fills_tables(self) -> bool:
        """Whether the query writes global tables of its app."""
        return self.driver.tables.fills_tables

    def start(self, session: SparkSession) -> None:
        """Publish the remaining output of the last commit, then start the query."""
        self.driver.publish_last()
        if self._pinned:
            self._jobs.use_pinned_workers(session.sparkContext, standing=self._standing)
        # Spark's own notes say nothing: they are the driver's alone, and new at each start.
        place = f"file://{self._scratch.enter_context(scratch_directory())}"  # taken literally
        ticks = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
        self._query = (
            ticks.writeStream.queryName(f"{self._settings.app.app_id}/{self.name}")
            .foreachBatch(self._on_batch)
            .option("checkpointLocation", place)
            .trigger(processingTime="0 seconds")
            .start()
        )

    # ------------------------------------------------------------ planning, in the app's thread

    def tick(self, *, until: Mapping[TopicPartition, int] | None = None) -> None:
        """Plan the waiting batch, if there is one and it has work.

        Records in loops do not wait for the next read of topics.

        Args:
            until: The end offset of each partition; the current end by default.

        Raises:
            KStreamsError: The query has failed.
            FencedError: A newer driver owns the checkpoint.
        """
        self.check()
        self._until, self._ticks = until, True
        if not self._waits.is_set() or (plan := self._next_plan()) is None:
            return
        with self._handing:  # no plan that its batch does not see
            if not self._stopping:
                self._plan = self.driver.record(self._number, plan)
                self._waits.clear()
                self._given.set()

    def rest(self) -> None:
        """Plan nothing until the next tick; a planned batch still runs."""
        self._ticks = False

    def _next_plan(self) -> Plan | None:
        """Return the next plan, if it is time for it and there is work."""
        began = time.monotonic()
        is_time = began - self._planned_at >= self._pause
        if not (is_time or self.driver.is_looping):
            return None
        plan = self.driver.next_plan(self._until, news=is_time)
        if plan is not None and is_time:
            self._planned_at = began
        return plan

    def _plan_ahead(self) -> Plan | None:
        """Return the next plan during the commit of the current batch."""
        is_left = self._until is None or not self.driver.planner.reached(self._until)
        return self._next_plan() if is_left and self._ticks and not self._stopping else None

    def end(self) -> dict[TopicPartition, int]:
        """Return the current end offsets of the query's sources."""
        return self.driver.end()

    def left(self, end: Mapping[TopicPartition, int]) -> int:
        """Return the number of records before an end that are not planned."""
        return self.driver.planner.left(end)

    def close_windows(self) -> None:
        """Make the next batch close the open windows of all tasks."""
        self.driver.close_windows()

    def reached(self, end: Mapping[TopicPartition, int], wall_ms: int) -> bool:
        """Return whether all records before an end are committed, and no batch runs.

        Args:
            end: The end offset of each partition.
            wall_ms: Wall-clock work due by this time must be done, too; ms since the epoch.
        """
        self.check()
        return self._waits.is_set() and self.driver.reached(end, wall_ms)

    def is_finished(self) -> bool:
        """Return whether the query has no more input, and no batch runs."""
        self.check()
        return self._waits.is_set() and self.driver.is_finished()

    # ------------------------------------------------------------ running

    def _on_batch(self, frame: DataFrame, _: int) -> None:
        """Run batches of the query during one Spark batch; the callback of that batch."""
        try:
            if self._turns.stand(frame.sparkSession.sparkContext):
                return
        except _StoppedError:
            if not self._stopping and self._failure is None:
                raise
        self._await_end()
        raise _StoppedError(_INTERRUPTED)  # or Spark begins another one

    def run_batch(self, spark: SparkContext) -> bool:
        """Run the next batch, in the thread of the query.

        Args:
            spark: The context.

        Returns:
            False if there is no batch, because the query stops.

        Raises:
            Exception: The batch failed. `check` raises the cause.
        """
        self._parts.callers.add(threading.get_ident())
        batch = self.driver.next_batch
        try:
            plan = self._plan_of(batch)
            if plan is None:
                self._jobs.rest()
                return False
            with log_context(query=self.name, batch=batch):
                planned_s = self.driver.progress.planned_s(batch)
                self._parts.watchers.began(self.name, batch, planned_s)
                self._run_plan(spark, batch, plan)
        except Exception as exc:  # noqa: BLE001  # kept, and raised in the app's thread
            self._jobs.rest()
            if self._stopping:
                if isinstance(exc, KStreamsError):  # else it is interrupted by the stop
                    _LOG.error("batch %d of query %s: %s", batch, self.name, exc)
                raise _StoppedError(_INTERRUPTED) from None
            _LOG.debug("batch %d of query %s failed", batch, self.name, exc_info=True)
            self._failure = self.driver.failure(batch, self._jobs.error_in(exc) or exc)
            self._parts.wanted.set()  # the app's thread raises it
            raise _StoppedError(f"batch {batch} of query {self.name!r} failed") from None
        return True

    def _run_plan(self, spark: SparkContext, batch: int, plan: Plan) -> None:
        began = time.perf_counter()
        spark.setJobDescription(f"query {self.name}, batch {batch}")
        plan, statuses = self._jobs.run(spark, batch, plan, self.driver.last)
        report = self.driver.commit(batch, plan, statuses, began, self._plan_ahead)
        self._parts.watchers.committed(report)
        self._parts.report(report, [line for status in statuses for line in status.lines])

    def _plan_of(self, batch: int) -> Plan | None:
        """Return the stored or a new plan of a batch; None if the query stops."""
        known = self.driver.planned(batch)
        if known is not None:  # the next start runs the remaining batches
            return None if self._stopping else known
        self._number = batch
        self._plan = None
        self._given.clear()
        self._waits.set()
        self._parts.wanted.set()
        if not self._stopping and not self._given.wait(_PATIENCE_SECONDS):
            self._jobs.rest()
            self._given.wait()
        return self._plan  # a recorded plan must run, even during a stop

    def _await_end(self) -> None:
        """Wait until the query is stopped, so that Spark starts no further batch."""
        self._rests.set()
        while self._query is None or self._query.isActive:
            time.sleep(_POLL_SECONDS)

    # ------------------------------------------------------------ ending

    def check(self) -> None:
        """Raise the error that ended the query, if it has ended.

        Raises:
            KStreamsError: The typed error, with its location.
        """
        query = self._query
        ended = query is not None and not self._stopping and not query.isActive
        if self._failure is not None:  # asked after the query, which ends by it
            raise typed(self._failure)
        if query is not None and ended:
            found = query.exception()
            stopped = (
                f"query {self.name!r} ended without an error: other code stopped the Spark query"
            )
            raise typed(found or ExecutionError(stopped))

    def ask_to_stop(self) -> None:
        """Start no further batch after the current one; `stop` must still be called."""
        with self._handing:
            self._stopping = True
        self._given.set()

    def stop(self, timeout: timedelta) -> None:
        """Wait for the current batch, then stop the query.

        Args:
            timeout: The maximum time to wait; the batch is then interrupted, and the next start
                repeats it.
        """
        self.ask_to_stop()
        end = time.monotonic() + timeout.total_seconds()
        if self._query is not None:
            self._stop_query(self._query, end)
            self._query = None
        self._turns.end(max(end - time.monotonic(), _LAST_SECONDS))
        self._jobs.close()
        self._scratch.close()
        self.driver.feed.close()

    def _stop_query(self, query: StreamingQuery, end: float) -> None:
        try:
            while query.isActive and not self._rests.is_set() and time.monotonic() < end:
                self._rests.wait(_POLL_SECONDS)
            if query.isActive:
                self._turns.begin_no_more()  # Spark's batch returns: stop() waits for it
                query.stop()
        except (Py4JError, ConnectionError) as exc:
            if not jvm_is_gone(exc):  # and the query with it
                raise


class _StoppedError(Exception):
    """Ends a query from its callback; the text is short, because Spark searches it."""


def _is_worth_a_line(line: logging.LogRecord) -> bool:
    """Return whether Py4J logs something else than the end of a query."""
    return line.exc_info is None or not isinstance(line.exc_info[1], _StoppedError)


logging.getLogger("py4j.clientserver").addFilter(_is_worth_a_line)
