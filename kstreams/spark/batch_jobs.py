"""Runs the tasks of a batch as Spark jobs, and retries them if a worker process dies."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kstreams.batch.batch_run import BatchRun, Parts
from kstreams.batch.messages.envelope import Content, Envelope
from kstreams.batch.messages.task_status import TaskStatus
from kstreams.batch.planning.planner import BatchPlanner
from kstreams.batch.progress import JOB, BatchProgress
from kstreams.batch.worker.stage_run import Message
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.planning.plans import Plan
from kstreams.errors import KStreamsError, VersionGoneError
from kstreams.global_tables.versions import QueryTables, Versions
from kstreams.spark.failure import ErrorChannel
from kstreams.spark.pinned_workers import PinnedWorkers
from kstreams.spark.stage import Stage
from kstreams.spark.standing_job import StandingJob
from kstreams.spark.worker_deaths import MOST_DEATHS, WorkerDeaths
from kstreams.state.log.commits import Commit

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ("BatchJobs",)

_LOG = logging.getLogger(__name__)
_DEATH_PAUSE_SECONDS = 0.5


class BatchJobs:
    """The jobs of one query's batches: a Spark stage for each stage of the pipeline.

    A batch needs several jobs if it has too many bytes and is planned smaller, or if a worker
    process dies; a job may run several batches (`StandingJob`).

    Args:
        settings: The settings of the query.
        import_path: Folders of the user's modules on executors.
        planner: Plans smaller batches.
        plans: Stores smaller plans.
        fence: Raises `FencedError` if a newer driver owns the checkpoint.
        tables: The global tables that the query reads.
        progress: Records each job.
        stopping: Returns whether the query stops: then nothing is retried.
    """

    def __init__(
        self,
        settings: QuerySettings,
        import_path: tuple[str, ...],
        *,
        planner: BatchPlanner,
        plans: PlanLog,
        fence: Callable[[], None],
        tables: QueryTables,
        progress: BatchProgress,
        stopping: Callable[[], bool],
    ) -> None:
        self._name = settings.name
        self._groups = [group.name for group in settings.groups]
        self._width = settings.width
        self._fence = fence
        self._batches = BatchRun(settings, planner=planner, plans=plans, fence=fence, tables=tables)
        self._progress = progress
        self._stopping = stopping
        self._errors = ErrorChannel()
        self._stages = [Stage(each, import_path, self._errors) for each in settings.stages()]
        self._workers: PinnedWorkers | None = None
        self._standing: StandingJob | None = None

    def use_pinned_workers(self, spark: SparkContext, *, standing: bool) -> None:
        """Use the same Python worker for each Spark partition from now on.

        Args:
            spark: The context of the workers.
            standing: Whether one job may run several batches, if the query has one stage.
        """
        self._workers = PinnedWorkers(spark)
        if standing and len(self._stages) == 1:
            try:
                self._standing = StandingJob(
                    spark, self._stages[0].batch_after_batch, self._workers, self._width
                )
            except OSError as exc:  # no place for a socket
                _LOG.warning("each batch of query %s is a job of its own: %s", self._name, exc)

    def rest(self) -> None:
        """Release the workers, because no batch may run for a while."""
        if self._standing is not None:
            self._standing.rest()

    def close(self) -> None:
        """Release the workers, because no further batch will run."""
        if self._standing is not None:
            self._standing.close()

    def error_in(self, exc: BaseException) -> KStreamsError | None:
        """Return the error of a task from a Spark exception; None if no task raised."""
        return self._errors.find(exc)

    def run(
        self, spark: SparkContext, batch: int, plan: Plan, last: Commit | None
    ) -> tuple[Plan, list[TaskStatus]]:
        """Run the tasks of a batch; plan the batch smaller until each task accepts its input.

        Args:
            spark: The context.
            batch: The number of the batch.
            plan: The plan.
            last: The previous commit; None before the first commit.

        Returns:
            The final plan, and the statuses of the tasks.

        Raises:
            WorkerDiedError: Worker processes have died too often.
        """
        deaths = WorkerDeaths(self._name, batch, self._groups, width=self._width)

        def job(plan: Plan, parts: Parts, versions: Versions) -> list[Content]:
            try:
                return self._run_alive(spark, batch, plan, parts, versions, deaths)
            except Exception as exc:
                found = self._errors.find(exc)
                if isinstance(found, VersionGoneError):
                    raise found from exc
                raise

        return self._batches.run(batch, plan, last, job)

    def _run_alive(
        self,
        spark: SparkContext,
        batch: int,
        plan: Plan,
        parts: Parts,
        versions: Versions,
        deaths: WorkerDeaths,
    ) -> list[Content]:
        """Run a job, and retry it if a worker process dies; return the results of the tasks.

        Spark does not retry tasks if the executor is the driver process.
        """
        while True:
            try:
                return self._run_job(spark, batch, plan, parts, versions)
            except Exception as exc:
                if self._stopping() or self._errors.find(exc) is not None:
                    raise
                died = deaths.add(exc, spark, plan, self._by_partition(parts))
                if died is None:
                    raise
                if died.deaths >= MOST_DEATHS:
                    raise died from exc
                _LOG.warning("%s: the batch runs again", died.message)
                self._fence()
                time.sleep(_DEATH_PAUSE_SECONDS)

    def _by_partition(self, parts: Parts) -> list[Sequence[Message]]:
        """Return the messages for each Spark partition, in the order of the partitions."""
        if self._standing is not None:
            return [parts.get(number, ()) for number in range(self._width)]
        return list(parts.values())

    def _run_job(
        self, spark: SparkContext, batch: int, plan: Plan, parts: Parts, versions: Versions
    ) -> list[Content]:
        self._progress.enter(JOB, batch)
        if self._standing is not None:
            turn = self._stages[0].turn(batch, plan.cuts, versions)
            said = self._standing.run(f"query {self._name}, batch {batch}", turn, parts)
        else:
            said = self._collected(spark, batch, plan, parts, versions)
        return [Envelope.unpack(payload).content for _, payload in said]

    def _collected(
        self, spark: SparkContext, batch: int, plan: Plan, parts: Parts, versions: Versions
    ) -> list[Message]:
        first, *later = [stage.in_batch(batch, plan.cuts, versions) for stage in self._stages]
        if self._workers is not None:
            messages = self._workers.run(parts, first, *later, width=self._width)
        else:
            inputs = list(parts.values())
            messages = spark.parallelize(inputs, len(inputs)).flatMap(iter).mapPartitions(first)
            for stage in later:
                messages = messages.partitionBy(self._width, int).mapPartitions(stage)
        return messages.collect()
