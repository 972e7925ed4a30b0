"""An executor that runs batches on a pool of workers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from kstreams.batch.messages.envelope import Content
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.execution.executor import BatchAttempt
from kstreams.workers.messages import LoadStage, StageTurn
from kstreams.workers.pickling import pickled
from kstreams.workers.pool import WorkerPool
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
        self._stages: tuple[LoadStage, ...] = ()
        self._reads = [{spec.name for spec in group.global_stores} for group in settings.groups]

    def open(self) -> None:
        """Pickle the settings of the stages.

        Raises:
            CompileError: The settings of a stage cannot be pickled.
        """
        self._stages = tuple(map(self._loaded, map(pickled, self._settings.stages())))

    def _loaded(self, settings: bytes) -> LoadStage:
        return LoadStage(hashlib.sha256(settings).hexdigest(), settings, self._import_path)

    def run(self, attempt: BatchAttempt) -> Sequence[Content]:
        """Run all stages of a batch; see `Executor.run`."""
        turns = tuple(
            StageTurn(
                stage.stage,
                dict(attempt.plan.cuts),
                {store: version for store, version in attempt.versions.items() if store in reads},
            )
            for stage, reads in zip(self._stages, self._reads, strict=True)
        )
        request = RunRequest(
            attempt.batch, attempt.attempt, turns, attempt.calls, self._settings.width
        )
        return self._pool.run(request, self._stages, owner=self)

    def idle(self) -> None:
        """Keep the workers; the engine decides when others need their cores.

        Raises:
            KStreamsError: The engine has failed.
        """
        self._pool.check()

    def cancel(self) -> None:
        """Interrupt the current batch, if there is one."""
        self._pool.cancel(self)

    def close(self) -> None:
        """Release the settings of the stages in all workers."""
        self._pool.forget(self._stages)
