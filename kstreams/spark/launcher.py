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
from kstreams.workers.launcher import DriverEndpoint
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
    """Runs a Spark job whose tasks are the workers.

    Spark places the tasks, starts them again if they fail and retries are enabled, and shows them
    in its pages. If the job fails, another one starts. If the number of workers grows, a second job
    runs the additional ones.

    Args:
        context: The Spark context that runs the jobs.
        count: The number of tasks, which is the number of workers.
        patience_s: The maximum time to wait for more workers; see `Launcher`.

    Attributes:
        group: The job group of the jobs.
    """

    def __init__(self, context: SparkContext, count: int, *, patience_s: float) -> None:
        self.patience_s = patience_s
        self._context = context
        self._count = count
        self.group = f"kstreams-workers-{uuid4().hex[:8]}"
        self._jobs: dict[range, threading.Thread] = {}  # by the numbers of its workers
        self._began = 0.0
        self._failed = 0
        self._failure: Exception | None = None
        self._lock = threading.Lock()

    def launch(self, endpoint: DriverEndpoint) -> None:
        """Start a Spark job for the workers that no running job includes.

        Raises:
            KStreamsError: A job has failed several times right after its start.
        """
        with self._lock:
            self._jobs = {own: job for own, job in self._jobs.items() if job.is_alive()}
            missing = sorted(set(range(self._count)).difference(*self._jobs))
            if not missing:
                return
            if self._failure is not None:
                self._count_failure(self._failure)
            self._began = time.monotonic()
            numbers = range(missing[0], missing[-1] + 1)
            job = threading.Thread(
                target=self._run, args=(endpoint, numbers), name="spark-workers", daemon=True
            )
            self._jobs[numbers] = job
            job.start()

    def grow(self, count: int) -> None:
        """Change the number of workers; `launch` starts a job for the additional ones."""
        self._count = count

    def _count_failure(self, failure: Exception) -> None:
        self._failure = None
        if time.monotonic() - self._began > _QUICK_S:
            self._failed = 0
            return
        self._failed += 1
        if self._failed >= _MAX_FAILED_STARTS:
            raise typed(failure)

    def _run(self, endpoint: DriverEndpoint, numbers: range) -> None:
        try:
            self._context.setJobGroup(self.group, "kstreams workers", interruptOnCancel=True)
            parts = self._context.parallelize(numbers, len(numbers))
            parts.mapPartitions(partial(_work, endpoint)).collect()
        except Exception as exc:  # noqa: BLE001  # `launch` raises it
            _LOG.debug("the job of the workers has failed", exc_info=exc)
            self._failure = exc

    def stop(self) -> None:
        """Wait for the jobs, and cancel them if they do not end."""
        with self._lock:
            jobs, self._jobs = list(self._jobs.values()), {}
        end = time.monotonic() + _END_S
        for job in jobs:
            job.join(max(0.0, end - time.monotonic()))
        if any(job.is_alive() for job in jobs):
            with suppress(Py4JError, ConnectionError):
                self._context.cancelJobGroup(self.group)
            for job in jobs:
                job.join(_END_S)


def _work(endpoint: DriverEndpoint, numbers: Iterable[int]) -> Iterator[int]:
    """Run a worker process in a Spark task until the driver ends it."""
    leave_quietly()
    drop_spark_archives()
    (number,) = numbers
    Worker(WorkerSettings(endpoint, number), add_to_import_path).work()
    return iter(())
