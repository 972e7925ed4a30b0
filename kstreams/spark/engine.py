"""The Spark engine: the tasks of an app run in the Python workers of a Spark session."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal

from kstreams.batch.package_files import own_folders
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import OpenedQuery
from kstreams.execution.executor import Executor
from kstreams.spark.startup.early_jvm import EarlyJvm, begin_jvm
from kstreams.workers.pool_executor import PoolExecutor

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kstreams.spark.session_workers import SessionWorkers

__all__ = ("SparkEngine", "SparkStage")

SparkStage = Literal["workers", "group-state"]
"""The form in which the partition groups of an app run on Spark."""


class SparkEngine:
    """Runs an app on a Spark session.

    All apps of a session share its workers. To save time, PySpark is imported while Java starts.

    Args:
        settings: The settings of the app.
        spark: The session of the user; by default the running session, or a new one.
        stage: The mode in which stages run: `workers`, in the tasks of one long Spark job; or
            `group-state`, as stateful operators of a streaming query.
    """

    name = "spark"

    def __init__(
        self, settings: AppSettings, spark: SparkSession | None, stage: SparkStage = "workers"
    ) -> None:
        self._stage = stage
        self._settings = settings
        self._given = spark
        self._early: EarlyJvm | None = None
        self._session: SparkSession | None = None
        self._workers: SessionWorkers | None = None
        self._import_path: tuple[str, ...] = ()
        self._opened = ExitStack()

    def begin(self) -> None:
        """Start Java without waiting for it; if there is a session, do nothing."""
        if self._given is None:
            self._early = begin_jvm(self._settings.config)
            if self._early is not None:
                self._opened.callback(self._early.end)

    def start(self, settings: AppSettings) -> None:
        """Get or create the session, and start its workers without waiting for them.

        Raises:
            JavaNotFoundError: There is no Java that Spark can run on.
            KStreamsError: Spark cannot start.
        """
        from kstreams.spark.failure import translated  # noqa: PLC0415  # see the class
        from kstreams.spark.session import app_session, is_local  # noqa: PLC0415  # as above
        from kstreams.spark.session_workers import session_workers  # noqa: PLC0415  # as above

        with translated():
            self._session = self._given or app_session(
                settings.app_id, config=settings.config, early=self._early
            )
            if self._stage == "group-state":
                return
            self._workers = self._opened.enter_context(session_workers(self._session))
            if not is_local(self._session):  # a cluster may add executors for more workers
                self._workers.pool.members.grow(self._settings.parallelism or 0)

    @property
    def width(self) -> int:
        """The number of workers of a stage."""
        if self._session is None:
            raise RuntimeError("the engine has no Spark session yet: call start() first")
        return self._settings.parallelism or self._session.sparkContext.defaultParallelism

    @property
    def attempts(self) -> int:
        """The number of attempts at a task that the session allows."""
        from kstreams.spark.session import task_attempts  # noqa: PLC0415  # see the class

        return 1 if self._session is None else task_attempts(self._session)

    @property
    def web_url(self) -> str | None:
        """The address of Spark's web pages; None if they are disabled."""
        return None if self._session is None else self._session.sparkContext.uiWebUrl

    def check(self, settings: AppSettings, query: OpenedQuery) -> None:
        """Check the executors of a cluster, and send them the user's modules; see `Engine`.

        On a cluster, the workers start only after this, so that they have the modules.
        """
        from kstreams.spark.executor_check import check_executors  # noqa: PLC0415  # as above
        from kstreams.spark.packages import ship  # noqa: PLC0415  # as above
        from kstreams.spark.session import is_local  # noqa: PLC0415  # as above

        session: Any = self._session
        if is_local(session):
            self._import_path = own_folders()
        else:
            self._import_path = ship(session, settings.packages)
            check_executors(session, query.log, query.commits.prefix, self._import_path)
            if self._workers is not None:
                self._workers.start_with(self._import_path)

    def executor(self, settings: QuerySettings) -> Executor:
        """Return the executor of a query."""
        if self._workers is not None:
            return PoolExecutor(self._workers.pool, settings, self._import_path)
        from kstreams.spark.group_state.executor import (  # noqa: PLC0415  # as above
            GroupStateExecutor,
        )

        if self._session is None:
            raise RuntimeError("the engine has no Spark session yet: call start() first")
        return GroupStateExecutor(self._session, settings, self._import_path)

    def close(self) -> None:
        """Release the workers; they end with the last app of the session."""
        self._opened.close()
        self._workers = self._session = None
