"""An executor that runs batches on a pool of workers."""

from __future__ import annotations

from collections.abc import Sequence

from kstreams.batch.messages.envelope import Content
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.execution.executor import BatchAttempt
from kstreams.workers.pool import WorkerPool
from kstreams.workers.query_stages import QueryStages
from kstreams.workers.runs import RunRequest

__all__ = ("PoolExecutor",)


class PoolExecutor:
    """Runs the batches of one query on the workers of a pool.

    Args:
        pool: The pool, which other queries use, too.
        settings: The settings of the query.
        import_path: Folders of the user's modules in workers.
    """

    def __init__(
        self, pool: WorkerPool, settings: QuerySettings, import_path: tuple[str, ...] = ()
    ) -> None:
        self._pool = pool
        self._settings = settings
        self._import_path = import_path
        self._stages: QueryStages | None = None

    def open(self) -> None:
        """Pickle the settings of the stages.

        Raises:
            CompileError: The settings of a stage cannot be pickled.
        """
        self._stages = QueryStages(self._settings, self._import_path)

    def run(self, attempt: BatchAttempt) -> Sequence[Content]:
        """Run all stages of a batch; see `Executor.run`."""
        if self._stages is None:
            raise RuntimeError("the executor is not open: call open() first")
        request = RunRequest(
            attempt.batch,
            attempt.attempt,
            self._stages.turns(attempt),
            attempt.calls,
            self._settings.width,
        )
        return self._pool.run(request, self._stages.loads, owner=self)

    def idle(self) -> None:
        """Check the pool, and keep its workers: the engine releases them if others need cores.

        Raises:
            KStreamsError: The engine has failed.
        """
        self._pool.check()

    def cancel(self) -> None:
        """Cancel the current batch, if there is one."""
        self._pool.cancel(self)

    def close(self) -> None:
        """Release the settings of the stages in all workers."""
        if self._stages is not None:
            self._pool.forget(self._stages.loads)
