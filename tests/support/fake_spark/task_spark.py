"""A fake of Spark for the crash harness: runs and commits batches, and retries tasks."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kstreams.batch.worker.stage_run import Message, StageRun
from kstreams.batch.worker.stage_settings import StageSettings
from kstreams.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from tests.support.crash.harness import Harness

__all__ = ("FakeSpark", "PlanAtOnce")

_ATTEMPTS = 3


class PlanAtOnce(threading.Event):
    """An event of the app's thread that makes a wanted plan immediately."""

    pipeline: Pipeline | None = None

    def set(self) -> None:
        if self.pipeline is not None:
            self.pipeline.tick()


class FakeSpark:
    """A fake of Spark: the session, the query, the context and the data set of a job."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        self.isActive = True

    # ------------------------------------------------------------ as a session and a query

    def begin(self, pipeline: Pipeline) -> FakeSpark:
        self._pipeline = pipeline
        self._settings = pipeline._settings
        return self

    def __getattr__(self, name: str) -> Any:
        if name in ("readStream", "writeStream", "sparkSession", "sparkContext"):
            return self
        if name in ("format", "option", "load", "queryName", "trigger", "start", "flatMap"):
            return lambda *_, **__: self
        if name in ("foreachBatch", "setJobDescription"):
            return lambda *_: self
        raise AttributeError(name)

    # ------------------------------------------------------------ running

    def run_batch(self) -> None:
        """Run the next batch."""
        self._batch = self._pipeline.driver.next_batch
        self._pipeline.run_batch(self)  # type: ignore[arg-type]  # a fake

    # ------------------------------------------------------------ as a context and a data set

    def parallelize(self, parts: list[list[Message]], count: int) -> FakeSpark:
        assert len(parts) == count
        self._parts = parts
        self._given: list[tuple[Any, ...]] = []
        return self

    def mapPartitions(self, function: Any) -> FakeSpark:  # noqa: N802  # Spark's name
        (turn,) = function.args
        self._given.append((turn.cuts, turn.versions))
        return self

    def partitionBy(self, *_: Any) -> FakeSpark:  # noqa: N802  # Spark's name
        return self

    def collect(self) -> list[Message]:
        parts: list[list[Message]] = self._parts
        for stage, given in zip(self._settings.stages(), self._given, strict=True):
            told = [message for part in parts for message in self._run_part(stage, part, given)]
            parts = [[m for m in told if m[0] == number] for number in sorted({m[0] for m in told})]
        return [message for part in parts for message in part]

    def _run_part(
        self, stage: StageSettings, part: Iterable[Message], given: tuple[Any, ...]
    ) -> list[Message]:
        harness, payloads = self._harness, [payload for _, payload in part]
        for _ in range(_ATTEMPTS):
            try:
                run = StageRun(stage, harness.worker, self._batch, *given)
                told = list(run.messages(payloads))
                if not harness.faults.dead:
                    harness.worker.background.drain()  # background work belongs to this batch
                harness.faults.reach("task told")
            except Exception:
                if harness.point.dies != "task" or not harness.has_died():
                    raise
                harness.recover(driver=False)
            else:
                return told
        raise AssertionError("a fault strikes once")
