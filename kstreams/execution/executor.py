"""The contract of engines: the code that starts workers and runs the tasks of batches on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kstreams.batch.batch_run import Parts
from kstreams.batch.messages.envelope import Content
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.checkpoint.planning.plans import Plan
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import OpenedQuery
from kstreams.errors import KStreamsError
from kstreams.global_tables.versions import Versions

__all__ = (
    "BatchAttempt",
    "BatchCanceledError",
    "Engine",
    "Executor",
    "TaskFailedError",
    "WorkerLostError",
)


class BatchCanceledError(Exception):
    """The batch was canceled, because its query is being stopped."""


class WorkerLostError(Exception):
    """A worker process died during a batch, which may run again.

    Attributes:
        stage: The number of the stage that the worker was running or would run next; None if it is
            unknown.
        slots: The slots of the worker. A slot is a share of a stage's tasks that one worker runs:
            task `t` of a later stage has the slot `t % width`.
        task: The task of the stage that the worker was running; None if it is unknown.
        deaths: The number of worker processes that died in this attempt, with Spark's own retries.
    """

    def __init__(
        self,
        stage: int | None,
        slots: Sequence[int],
        task: int | None = None,
        *,
        deaths: int = 1,
    ) -> None:
        super().__init__(f"the worker of slots {list(slots)} ended in stage {stage}")
        self.stage = stage
        self.slots = tuple(slots)
        self.task = task
        self.deaths = deaths


class TaskFailedError(Exception):
    """A task of a batch failed; the batch may run again.

    Attributes:
        error: The error of the task, with its location.
    """

    def __init__(self, error: KStreamsError) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass(frozen=True)
class BatchAttempt:
    """One attempt at a batch.

    Attributes:
        batch: The number of the batch.
        attempt: The number of attempts at the batch, including this one.
        plan: The plan of the batch.
        calls: The packed calls of the tasks of all stages, by slot.
        versions: The versions of global tables, by store.
    """

    batch: int
    attempt: int
    plan: Plan
    calls: Parts
    versions: Versions


class Executor(Protocol):
    """Runs the batches of one query.

    One thread calls `open`, then `run`, `idle` and `close`; any thread may call `cancel`.
    """

    def open(self) -> None:
        """Prepare the stages of the query, without waiting for workers.

        Raises:
            CompileError: The settings of a stage cannot be sent to workers.
        """
        ...

    def run(self, attempt: BatchAttempt) -> Sequence[Content]:
        """Run all stages of a batch, and return the results of its tasks.

        Raises:
            WorkerLostError: A worker process ended; the batch may run again.
            TaskFailedError: A task failed; the batch may run again.
            BatchCanceledError: `cancel` was called.
            KStreamsError: No worker can run.
        """
        ...

    def idle(self) -> None:
        """Release resources that other queries or programs may need.

        The method is called repeatedly while the query has no batch to run.

        Raises:
            KStreamsError: No worker can run any more.
        """
        ...

    def cancel(self) -> None:
        """Interrupt the current batch, if there is one."""
        ...

    def close(self) -> None:
        """Release all resources of the query."""
        ...


class Engine(Protocol):
    """Starts the workers of one app, and creates an executor for each of its queries."""

    @property
    def name(self) -> str:
        """The name of the engine, as in `App(engine=...)`."""
        ...

    @property
    def width(self) -> int:
        """The number of workers, and the maximum number of slots of a stage.

        A slot is a share of a stage's tasks that one worker runs.
        """
        ...

    @property
    def attempts(self) -> int:
        """The maximum number of attempts at a batch whose tasks fail."""
        ...

    @property
    def web_url(self) -> str | None:
        """The address of the engine's web pages; None without pages."""
        ...

    def begin(self) -> None:
        """Begin the slow part of the start, such as starting processes, without waiting for it."""
        ...

    def start(self, settings: AppSettings) -> None:
        """Complete the start of the engine.

        Raises:
            KStreamsError: The engine cannot be started.
        """
        ...

    def check(self, settings: AppSettings, query: OpenedQuery) -> None:
        """Check that workers can run a query, and send them the user's modules.

        Raises:
            CompileError: Workers have another version of the library, or cannot access the durable
                log.
        """
        ...

    def executor(self, settings: QuerySettings) -> Executor:
        """Return the executor of a query."""
        ...

    def close(self) -> None:
        """Release the resources that `begin` and `start` have acquired."""
        ...
