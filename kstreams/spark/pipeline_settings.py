"""What a pipeline is told by its app."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from kstreams.batch.stage_settings import StageSettings

__all__ = ("PipelineSettings",)


@dataclass(frozen=True)
class PipelineSettings:
    """What a pipeline is told by its app.

    Attributes:
        name: The query's name.
        checkpoint: Where Spark keeps its own notes of the query.
        run: Id of this driver.
        trigger: Least time between the starts of two batches.
        stages: Settings of each stage.
        archives: Names of the user's packages on executors.
        fingerprint: The topology's, recorded with each commit.
        retained: How many commits stay readable from outside.
        own_workers: Whether each Spark partition of the first stage has Python workers of its
            own: there is but that stage, and one executor runs them all at once.
    """

    name: str
    checkpoint: str
    run: str
    trigger: timedelta
    stages: tuple[StageSettings, ...]
    archives: tuple[str, ...]
    fingerprint: str
    retained: int
    own_workers: bool
