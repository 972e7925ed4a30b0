"""Starts the workers of a pool as the tasks of one long Spark job."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

from py4j.protocol import Py4JError

from kstreams.spark.failure import typed
from kstreams.spark.worker import add_to_import_path, drop_spark_archives, leave_quietly
from kstreams.workers.launcher import Door
from kstreams.workers.worker import Worker, WorkerSettings

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ("SparkLauncher",)

_LOG = logging.getLogger(__name__)
_END_S = 10.0
_MAX_FAILED_STARTS = 3
_QUICK_S = 10.0
"""A job that fails within this time after its start counts as failed to start."""


class SparkLauncher:
    """Runs one Spark job whose tasks are the workers.

    Spark places the tasks, starts them again if they fail and retries are enabled, and shows them
    in its pages. If the job fails, another one starts.

    Args:
        context: The context.
        count: The number of tasks.

    Attributes:
        group: The job group of the job.
    """

    patience_s = 0.5

    def __init__(self, context: SparkContext, count: int) -> None:
        self._context = context
        self._count = count
        self.group = f"kstreams-workers-{uuid4().hex[:8]}"
        self._thread: threading.Thread | None = None
        self._began = 0.0
        self._failed = 0
        self._failure: Exception | None = None
        self._lock = threading.Lock()

    def launch(self, door: Door) -> None:
        """Start the job, unless it runs.

        Raises:
            KStreamsError: The job has failed several times right after its start.
        """
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            if self._failure is not None:
                self._count_failure(self._failure)
            self._began = time.monotonic()
            self._thread = threading.Thread(
                target=self._run, args=(door,), name="spark-workers", daemon=True
            )
            self._thread.start()

    def _count_failure(self, failure: Exception) -> None:
        self._failure = None
        if time.monotonic() - self._began > _QUICK_S:
            self._failed = 0
            return
        self._failed += 1
        if self._failed >= _MAX_FAILED_STARTS:
            raise typed(failure)

    def _run(self, door: Door) -> None:
        try:
            self._context.setJobGroup(self.group, "kstreams workers", interruptOnCancel=True)
            numbers = self._context.parallelize(range(self._count), self._count)
            numbers.mapPartitions(partial(_work, door)).collect()
        except Exception as exc:  # noqa: BLE001  # `launch` raises it
            _LOG.debug("the job of the workers has failed", exc_info=exc)
            self._failure = exc

    def stop(self) -> None:
        """Wait for the job, and cancel it if it does not end."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is None:
            return
        thread.join(_END_S)
        if thread.is_alive():
            with suppress(Py4JError, ConnectionError):
                self._context.cancelJobGroup(self.group)
            thread.join(_END_S)


def _work(door: Door, numbers: Iterable[int]) -> Iterator[int]:
    """Run a worker, in a Spark task."""
    leave_quietly()
    drop_spark_archives()
    (number,) = numbers
    Worker(WorkerSettings(door.driver, door.secret, door.own, number), add_to_import_path).work()
    return iter(())
