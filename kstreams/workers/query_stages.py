"""The messages with the stages of a query, which the driver sends to workers."""

from __future__ import annotations

import hashlib

from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.execution.executor import BatchAttempt
from kstreams.workers.messages import LoadStage, StageTurn
from kstreams.workers.pickling import pickled

__all__ = ("QueryStages",)


class QueryStages:
    """Creates the messages about a query's stages: `LoadStage` once, `StageTurn` for each batch.

    Args:
        settings: The settings of the query.
        import_path: Folders of the user's modules in workers.

    Attributes:
        loads: The message with the settings of each stage, in order.

    Raises:
        CompileError: The settings of a stage cannot be pickled.
    """

    def __init__(self, settings: QuerySettings, import_path: tuple[str, ...]) -> None:
        self.loads = tuple(
            LoadStage(hashlib.sha256(data).hexdigest(), data, import_path)
            for data in map(pickled, settings.stages())
        )
        self._reads = [{spec.name for spec in group.global_stores} for group in settings.groups]

    def turns(self, attempt: BatchAttempt) -> tuple[StageTurn, ...]:
        """Return the data of each stage in an attempt at a batch, in order."""
        return tuple(
            StageTurn(
                stage.stage,
                dict(attempt.plan.cuts),
                {store: version for store, version in attempt.versions.items() if store in reads},
            )
            for stage, reads in zip(self.loads, self._reads, strict=True)
        )
