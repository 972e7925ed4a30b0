"""The embedded engine: the tasks of an app run in worker processes on this machine."""

from __future__ import annotations

import os
from contextlib import ExitStack

from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import OpenedQuery
from kstreams.local_workers.launcher import LocalLauncher
from kstreams.scratch import scratch_directory
from kstreams.workers.channel import local_addresses
from kstreams.workers.pool import WorkerPool
from kstreams.workers.pool_executor import PoolExecutor

__all__ = ("EmbeddedEngine",)


class EmbeddedEngine:
    """Runs an app without Spark and Java.

    Args:
        width: The number of worker processes; by default the number of cores.
    """

    name = "embedded"
    attempts = 1
    web_url: str | None = None

    def __init__(self, width: int | None = None) -> None:
        self.width = width or len(os.sched_getaffinity(0))
        self._opened = ExitStack()
        self._pool: WorkerPool | None = None

    def begin(self) -> None:
        """Start the worker processes, without waiting for them."""
        folder = self._opened.enter_context(scratch_directory())
        address, prefix = local_addresses(folder)
        self._pool = WorkerPool(
            LocalLauncher(self.width), self.width, address=address, worker_prefix=prefix
        )
        self._opened.callback(self._pool.close)
        self._pool.members.start()

    def start(self, settings: AppSettings) -> None:
        """Do nothing: the workers connect when they have started."""

    def check(self, settings: AppSettings, query: OpenedQuery) -> None:
        """Do nothing: the workers import the library and the user's modules from the same paths."""

    def executor(self, settings: QuerySettings) -> PoolExecutor:
        """Return the executor of a query."""
        if self._pool is None:
            raise RuntimeError("the engine has no workers yet: call begin() first")
        return PoolExecutor(self._pool, settings)

    def close(self) -> None:
        """End the worker processes."""
        self._opened.close()
        self._pool = None
