"""Runs a batch on an executor, and retries it if a worker process dies or a task fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from kstreams.batch.batch_run import BatchRun, Parts
from kstreams.batch.messages.envelope import Content
from kstreams.batch.messages.task_status import TaskStatus
from kstreams.batch.progress import JOB
from kstreams.batch.query_driver import QueryDriver
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.checkpoint.planning.plans import Plan
from kstreams.execution.executor import BatchAttempt, Executor, TaskFailedError, WorkerLostError
from kstreams.execution.worker_deaths import MOST_DEATHS, WorkerDeaths
from kstreams.global_tables.versions import Versions

__all__ = ("BatchAttempts",)

_LOG = logging.getLogger(__name__)
_PAUSE_S = 0.5
"""The pause before a retry after the death of a worker, in seconds."""


class BatchAttempts:
    """Runs the batches of one query on its executor.

    A batch needs several attempts if its input has too many bytes for a worker, so that it is
    planned smaller; if a worker process dies; or if a task fails and the engine allows retries.

    Args:
        settings: The settings of the query.
        driver: Plans the batches.
        executor: Runs the tasks of a batch on workers.
        most: The maximum number of attempts at a batch whose tasks fail.
        stopping: Returns whether the query is being stopped: then no batch is retried.
    """

    def __init__(
        self,
        settings: QuerySettings,
        driver: QueryDriver,
        executor: Executor,
        most: int,
        stopping: Callable[[], bool],
    ) -> None:
        self._name = settings.name
        self._groups = [group.name for group in settings.groups]
        self._width = settings.width
        self._driver = driver
        self._executor = executor
        self._most = most
        self._stopping = stopping
        self._batches = BatchRun(
            settings,
            planner=driver.planner,
            plans=driver.plans,
            fence=driver.fence,
            tables=driver.tables,
        )

    def run(self, batch: int, plan: Plan) -> tuple[Plan, list[TaskStatus]]:
        """Run the tasks of a batch, with retries.

        Args:
            batch: The number of the batch.
            plan: The first plan of the batch.

        Returns:
            The plan that was run, perhaps a smaller revision, and the statuses of its tasks.

        Raises:
            WorkerDiedError: Worker processes have died `MOST_DEATHS` times in this batch.
            WorkerLostError: A worker process died while the query is being stopped.
            BatchCanceledError: The executor's `cancel` was called.
            KStreamsError: A task failed in all of its attempts, or no worker can run.
        """
        deaths = WorkerDeaths(self._name, batch, self._groups, width=self._width)
        attempts = failures = 0

        def job(plan: Plan, calls: Parts, versions: Versions) -> Sequence[Content]:
            nonlocal attempts, failures
            while True:
                attempts += 1
                self._driver.progress.enter(JOB, batch)
                try:
                    return self._executor.run(BatchAttempt(batch, attempts, plan, calls, versions))
                except WorkerLostError as lost:
                    if self._stopping():
                        raise
                    died = deaths.add(lost, plan, calls)
                    if died.deaths >= MOST_DEATHS:
                        raise died from lost
                    _LOG.warning("%s: the batch runs again", died.message)
                    self._driver.fence()
                    time.sleep(_PAUSE_S)
                except TaskFailedError as failed:
                    failures += 1
                    if failures >= self._most or self._stopping():
                        raise failed.error from failed.error.__cause__
                    _LOG.warning("%s: the batch runs again", failed.error.message)
                    self._driver.fence()

        return self._batches.run(batch, plan, self._driver.last, job)
