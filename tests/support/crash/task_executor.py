"""An engine for the crash harness: it runs tasks in this process, and retries them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kstreams.batch.messages.envelope import DRIVER, Content, Envelope
from kstreams.batch.messages.oversized_batch import Refusal
from kstreams.batch.worker.stage_run import StageRun
from kstreams.batch.worker.stage_settings import QuerySettings, StageSettings
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import OpenedQuery
from kstreams.execution.executor import BatchAttempt

if TYPE_CHECKING:
    from tests.support.crash.harness import Harness

__all__ = ("TaskEngine", "TaskExecutor")

_ATTEMPTS = 3


class TaskEngine:
    """Gives each query a `TaskExecutor`."""

    name = "harness"
    attempts = 1
    web_url: str | None = None

    def __init__(self, harness: Harness, width: int) -> None:
        self._harness = harness
        self.width = width

    def begin(self) -> None:
        """Do nothing."""

    def start(self, settings: AppSettings) -> None:
        """Do nothing."""

    def check(self, settings: AppSettings, query: OpenedQuery) -> None:
        """Do nothing."""

    def executor(self, settings: QuerySettings) -> TaskExecutor:
        return TaskExecutor(self._harness, settings)

    def close(self) -> None:
        """Do nothing."""


class TaskExecutor:
    """Runs the stages of a batch one after another; a task that dies runs again."""

    def __init__(self, harness: Harness, settings: QuerySettings) -> None:
        self._harness = harness
        self._settings = settings

    def open(self) -> None:
        """Do nothing."""

    def run(self, attempt: BatchAttempt) -> Sequence[Content]:
        messages = [
            Envelope.unpack(payload)
            for slot in sorted(attempt.calls)
            for _, payload in attempt.calls[slot]
        ]
        results: list[Content] = []
        for stage in self._settings.stages():
            own = [each for each in messages if each.stage == stage.number]
            for slot in sorted({each.task % self._settings.width for each in own}):
                part = [each for each in own if each.task % self._settings.width == slot]
                messages += self._run_part(stage, part, attempt)
            results += [each.content for each in messages if each.stage == DRIVER]
            messages = [each for each in messages if each.stage > stage.number]
            if any(isinstance(each, Refusal) for each in results):
                break
        self._harness.batch_runs()
        return results

    def _run_part(
        self, stage: StageSettings, part: Iterable[Envelope], attempt: BatchAttempt
    ) -> list[Envelope]:
        harness = self._harness
        payloads = [each.pack() for each in part]  # as between processes
        reads = {spec.name for spec in stage.group.global_stores}
        versions = {name: found for name, found in attempt.versions.items() if name in reads}
        for _ in range(_ATTEMPTS):
            try:
                run = StageRun(stage, harness.worker, attempt.batch, attempt.plan.cuts, versions)
                results = list(run.run(map(Envelope.unpack, payloads)))
                if not harness.faults.dead:
                    harness.worker.background.drain()  # background work belongs to this batch
                harness.faults.reach("task told")
            except Exception:
                if harness.point.dies != "task" or not harness.has_died():
                    raise
                harness.recover(driver=False)
            else:
                return results
        raise AssertionError("a fault strikes once")

    def idle(self) -> None:
        """Do nothing."""

    def cancel(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""
