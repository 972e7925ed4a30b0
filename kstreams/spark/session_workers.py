"""The workers of a Spark session, which all apps in the driver share."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from kstreams.scratch import scratch_directory
from kstreams.spark.core_sharing import sharing_cores
from kstreams.spark.launcher import SparkLauncher
from kstreams.spark.session import is_local
from kstreams.spark.speculation import speculation_of
from kstreams.workers.channel import local_addresses
from kstreams.workers.pool import WorkerPool

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ("SessionWorkers", "session_workers")

_LOCAL_PATIENCE_S = 2.0
_PATIENCE_S = 5.0
"""Executors of a cluster start their first worker at different times."""
_LOCK = threading.Lock()
_SHARED: dict[str, SessionWorkers] = {}


class SessionWorkers:
    """The pool of a session's workers, and the number of apps that use it.

    In Spark's local mode, the driver and its workers connect by Unix sockets in a private folder.
    On a cluster they connect by TCP; workers get the secret for it with the function of their job.

    Attributes:
        pool: The pool of workers.
        users: The number of apps that use the pool.
    """

    def __init__(self, session: SparkSession) -> None:
        context = session.sparkContext
        cores = context.defaultParallelism
        self.users = 0
        self._archives: set[str] = set()
        self._opened = ExitStack()
        patience_s = _LOCAL_PATIENCE_S if is_local(session) else _PATIENCE_S
        launcher = SparkLauncher(context, cores, patience_s=patience_s)
        if is_local(session):
            folder = self._opened.enter_context(scratch_directory())
            address, prefix = local_addresses(folder)
            self.pool = WorkerPool(launcher, cores, address=address, worker_prefix=prefix)
        else:
            host = context.getConf().get("spark.driver.host") or "127.0.0.1"
            self.pool = WorkerPool(
                launcher,
                cores,
                address=(host, 0),
                worker_prefix="",
                speculation=speculation_of(context.getConf()),
            )
        self._opened.callback(self.pool.close)
        self._opened.enter_context(sharing_cores(context, launcher.group, self.pool))
        if is_local(session):
            self.pool.members.start()

    def start_with(self, archives: Collection[str]) -> None:
        """Start the workers on a cluster, with the user's modules as archives.

        Spark sends archives to an executor at the start of a task, so workers that were started
        before an archive was added are replaced.

        Args:
            archives: The names of archives that were added to the session.
        """
        if not self._archives.issuperset(archives):
            self._archives.update(archives)
            self.pool.members.release()
        self.pool.members.start()

    def close(self) -> None:
        """End the workers."""
        self._opened.close()


@contextmanager
def session_workers(session: SparkSession) -> Iterator[SessionWorkers]:
    """Yield the workers of a session, for one app; they end when no app uses them any more."""
    key = str(session.sparkContext.applicationId)
    with _LOCK:
        found = _SHARED.get(key)
        if found is None:
            found = _SHARED[key] = SessionWorkers(session)
        found.users += 1
    try:
        yield found
    finally:
        with _LOCK:
            found.users -= 1
            if not found.users:
                del _SHARED[key]
        if not found.users:
            found.close()
