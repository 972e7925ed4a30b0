"""The loop of one query: plan a batch, run it, commit it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from datetime import timedelta

from kstreams.batch.query_driver import QueryDriver
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.checkpoint.planning.plans import Plan
from kstreams.errors import ExecutionError, KStreamsError
from kstreams.execution.app_parts import AppParts
from kstreams.execution.batch_attempts import BatchAttempts
from kstreams.execution.executor import Executor
from kstreams.graph.nodes import SourceNode
from kstreams.ids import TopicPartition
from kstreams.quoting import kind_of, text_of
from kstreams.task.gc_pause import gc_pauses
from kstreams.telemetry.log_context import log_context

__all__ = ("QueryLoop", "typed")

_LOG = logging.getLogger(__name__)
_POLL_S = 0.02
"""The minimum poll interval for new records, in seconds."""
_POLL_COSTS = 4
"""The minimum poll interval as a multiple of the processor time of the last poll.

An idle query that polls many partitions uses at most a fifth of a core.
"""
_IDLE_S = 0.05
"""The time without a batch, in seconds, after which the executor may release resources."""
_CANCEL_S = 5.0
"""The maximum time for a canceled batch to end."""


class QueryLoop:
    """Runs one query in a thread of its own.

    The thread plans new batches only between `resume` and `pause`; a planned batch also runs after
    `pause`.

    Args:
        settings: The settings of the query.
        driver: Plans and commits the batches.
        parts: The shared objects of the app.
        executor: Runs the tasks.
    """

    def __init__(
        self, settings: QuerySettings, driver: QueryDriver, parts: AppParts, executor: Executor
    ) -> None:
        self.driver = driver
        self._settings = settings
        self._parts = parts
        self._executor = executor
        self._attempts = BatchAttempts(
            settings, driver, executor, parts.engine.attempts, lambda: self._stopping
        )
        self._trigger_s = settings.app.trigger.total_seconds()
        self._planned_at = float("-inf")
        self._until: Mapping[TopicPartition, int] | None = None
        self._plans = False  # whether to plan further batches
        self._stopping = False
        self._changed = threading.Condition()
        self._working = threading.Lock()  # held from the plan of a batch to its commit
        self._failure: BaseException | None = None
        self._thread = threading.Thread(
            target=self._run, name=f"query-{settings.name}", daemon=True
        )

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

    def start(self) -> None:
        """Publish the remaining output of the last commit, then start the thread.

        Raises:
            KStreamsError: The output cannot be published, or the stages cannot be sent to workers.
        """
        self.driver.publish_last()
        self._executor.open()
        self._thread.start()

    # ------------------------------------------------------------ control, in the app's thread

    def resume(self, *, until: Mapping[TopicPartition, int] | None = None) -> None:
        """Let the thread plan batches, until `pause`.

        Args:
            until: The end offsets of partitions, up to which batches read; None: no limit.

        Raises:
            KStreamsError: The query has failed.
        """
        self.check()
        with self._changed:
            self._until, self._plans = until, True
            self._changed.notify_all()

    def pause(self) -> None:
        """Plan no further batches until `resume`; a batch that is already planned still runs."""
        with self._changed:
            self._plans = False

    def end(self) -> dict[TopicPartition, int]:
        """Return the current end offsets of the query's sources."""
        return self.driver.end()

    def left(self, end: Mapping[TopicPartition, int]) -> int:
        """Return the number of records before end offsets that no planned batch reads."""
        return self.driver.planner.left(end)

    def close_windows(self) -> None:
        """Make the next batch close the open windows of all tasks."""
        self.driver.close_windows()

    def reached(self, end: Mapping[TopicPartition, int], wall_ms: int) -> bool:
        """Return whether all records before end offsets are committed, and no batch runs.

        Args:
            end: The end offset of each partition.
            wall_ms: A wall time, ms since the epoch: wall-clock punctuators that are due by then
                must have run, too.

        Raises:
            KStreamsError: The query has failed.
        """
        return self._rests_and(lambda: self.driver.reached(end, wall_ms))

    def is_finished(self) -> bool:
        """Return whether all sources of the query have ended, and no batch runs.

        A source ends if it is bounded and read completely, or if a limit is reached.

        Raises:
            KStreamsError: The query has failed.
        """
        return self._rests_and(self.driver.is_finished)

    def _rests_and(self, is_done: Callable[[], bool]) -> bool:
        self.check()
        if not self._working.acquire(blocking=False):
            return False
        try:
            return self.driver.planned(self.driver.next_batch) is None and is_done()
        finally:
            self._working.release()

    def check(self) -> None:
        """Raise the error of the query, if it has failed.

        Raises:
            KStreamsError: The typed error, with its location.
        """
        if self._failure is not None:
            raise typed(self._failure)

    # ------------------------------------------------------------ the query's thread

    def _run(self) -> None:
        self._parts.callers.add(threading.get_ident())
        idle_since: float | None = None
        try:
            while not self._stopping:
                began = time.thread_time()
                with self._working:
                    has_run = self.run_batch()
                if has_run:
                    self._parts.changed.set()
                    idle_since = None
                    continue
                now = time.monotonic()
                idle_since = now if idle_since is None else idle_since
                if now - idle_since > _IDLE_S:
                    self._idle()
                with self._changed:
                    if not self._stopping:
                        used = time.thread_time() - began
                        self._changed.wait(max(_POLL_S, used * _POLL_COSTS))
        except Exception:  # noqa: BLE001  # `check` raises it
            return

    def _idle(self) -> None:
        """Let the executor release resources; fail the query if no worker can run any more."""
        try:
            self._executor.idle()
        except KStreamsError as exc:
            raise self._noted(self.driver.next_batch, exc) from exc

    def _noted(self, batch: int, exc: Exception) -> Exception:
        """Store the failure of a batch for `check`, and return its error.

        While the query is being stopped, the failure is only logged.
        """
        if self._stopping:
            if isinstance(exc, KStreamsError):  # otherwise the stop has interrupted the batch
                _LOG.error("batch %d of query %s: %s", batch, self.name, exc)
            return exc
        _LOG.debug("batch %d of query %s failed", batch, self.name, exc_info=exc)
        self._failure = failure = self.driver.failure(batch, exc)
        self._parts.changed.set()
        return failure

    def run_batch(self) -> bool:
        """Run the next batch, if there is a stored plan or input for a new one.

        The thread of the query calls the method repeatedly.

        Returns:
            Whether a batch has run.

        Raises:
            FencedError: A newer driver owns the checkpoint.
            Exception: The batch failed.
        """
        if self._stopping:
            return False
        batch = self.driver.next_batch
        try:
            plan = self._plan_of(batch)
            if plan is not None:
                with log_context(query=self.name, batch=batch), gc_pauses():
                    self._run_plan(batch, plan)
        except Exception as exc:
            failure = self._noted(batch, exc)
            if failure is exc:
                raise
            raise failure from exc
        return plan is not None

    def _run_plan(self, batch: int, plan: Plan) -> None:
        progress = self.driver.progress
        self._parts.watchers.began(self.name, batch, progress.planned_s(batch))
        began = time.perf_counter()
        plan, statuses = self._attempts.run(batch, plan)
        report = self.driver.commit(batch, plan, statuses, began, self._plan_ahead)
        self._parts.watchers.committed(report)
        self._parts.report(report, [line for status in statuses for line in status.lines])

    def _plan_of(self, batch: int) -> Plan | None:
        """Return the stored plan of a batch, or a new one; None if there is no input."""
        known = self.driver.planned(batch)
        if known is not None:
            return known
        found = self._next_plan() if self._plans else None
        return None if found is None else self.driver.record(batch, found)

    def _next_plan(self) -> Plan | None:
        """Return a new plan, if the trigger interval has passed and there is input; otherwise None.

        If loops have records, a plan is created also before the interval has passed.
        """
        now = time.monotonic()
        is_time = now - self._planned_at >= self._trigger_s
        if not (is_time or self.driver.is_looping):
            return None
        plan = self.driver.next_plan(self._until, news=is_time)
        if plan is not None and is_time:
            self._planned_at = now
        return plan

    def _plan_ahead(self) -> Plan | None:
        """Return the plan of the next batch, during the commit of the current one; may be None."""
        is_left = self._until is None or not self.driver.planner.reached(self._until)
        return self._next_plan() if is_left and self._plans and not self._stopping else None

    # ------------------------------------------------------------ ending

    def begin_stop(self) -> None:
        """Start no batch after the current one; `stop` must still be called."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def stop(self, timeout: timedelta) -> None:
        """Wait for the current batch, then stop the query.

        Args:
            timeout: The maximum time to wait. After it, the batch is interrupted; the next start of
                the app runs it again.
        """
        self.begin_stop()
        if self._thread.is_alive():
            self._thread.join(timeout.total_seconds())
        if self._thread.is_alive():
            self._executor.cancel()
            self._thread.join(_CANCEL_S)
            if self._thread.is_alive():
                _LOG.warning("query %s: the batch has not ended", self.name)
        self._executor.close()
        self.driver.close(_CANCEL_S)


def typed(exc: BaseException) -> KStreamsError:
    """Return the `KStreamsError` for any exception that ended a query."""
    if isinstance(exc, KStreamsError):
        return exc
    error = ExecutionError(
        f"{kind_of(exc)}: {text_of(exc)}",
        hint="nothing of the failed batch was kept; remove the cause and restart.",
    )
    error.__cause__ = exc
    return error
