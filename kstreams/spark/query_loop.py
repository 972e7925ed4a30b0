"""Batches in a separate thread, independent of Spark's work between two of its batches."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pyspark import InheritableThread

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ("BatchTurns",)

_LOG = logging.getLogger(__name__)

_STANDS_S = 0.25
"""The minimum duration of a Spark batch: its log entries and its plan take about 25 ms."""

_STANDS_AT_MOST_S = 3_600
"""The maximum duration of a Spark batch: its log entries keep Spark's folder from clean-up."""

_OF_ONE_BATCH = ("spark.sql.execution.id", "spark.sql.execution.root.id", "streaming.sql.batchId")
"""Local properties that a job inherits from the first Spark batch of the thread, and that are wrong
later.
"""


class BatchTurns:
    """Runs batch after batch, while one Spark batch covers many of them.

    Between two of its batches, Spark writes a commit entry and plans the next batch, which a query
    with its own plans does not need. So the batches run one after another in a separate thread. A
    Spark batch covers all batches that end within a quarter of a second, and at least one unless
    none ends within an hour.

    Args:
        run: Runs the next batch in a context; returns False if there is none, because the query
            stops. Called in one thread, whose jobs belong to the Spark query; an exception ends the
            loop.
        name: The name of the thread.
    """

    def __init__(self, run: Callable[[SparkContext], bool], name: str) -> None:
        self._run = run
        self._name = name
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._done = 0
        self._over = False
        self._error: BaseException | None = None

    def stand(self, spark: SparkContext) -> bool:
        """Cover batches with the current Spark batch; return False if there will be no more.

        Call it in the thread in which Spark starts its batch.

        Args:
            spark: The context.

        Raises:
            Exception: The exception of `run`.
        """
        until = time.monotonic() + _STANDS_S
        with self._changed:
            before = self._done
            if self._thread is None:
                target = partial(self._take_turns, spark)
                self._thread = InheritableThread(target=target, name=self._name, daemon=True)
                self._thread.start()
            self._changed.wait_for(
                lambda: self._over or self._done > before, timeout=_STANDS_AT_MOST_S
            )
            self._changed.wait_for(lambda: self._over, until - time.monotonic())
            if not self._over:
                return True
        if self._error is not None:
            raise self._error
        return False

    def begin_no_more(self) -> None:
        """Begin no further batch, and let Spark's batch return at once."""
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def end(self, timeout_s: float) -> None:
        """Begin no further batch, and wait for the current batch.

        Args:
            timeout_s: The maximum time to wait, in seconds. A longer callback of the user continues
                in its thread, which ends after it.
        """
        self.begin_no_more()
        if self._thread is None:
            return
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            _LOG.warning("%s: the batch under way has not ended", self._name)

    def _take_turns(self, spark: SparkContext) -> None:
        try:
            for name in _OF_ONE_BATCH:
                spark.setLocalProperty(name, None)  # type: ignore[arg-type]  # removes it
            while not self._is_over() and self._run(spark):
                with self._changed:
                    self._done += 1
                    self._changed.notify_all()
        except BaseException as exc:  # noqa: BLE001  # raised where Spark waits
            if self._is_over():  # Spark's batch has returned: nothing would raise the error
                _LOG.warning("%s: a batch failed after the stop", self._name, exc_info=True)
            self._error = exc
        finally:
            self.begin_no_more()

    def _is_over(self) -> bool:
        with self._changed:
            return self._over
