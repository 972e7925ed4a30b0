"""The driver's data about its workers, and about their runs (attempts at batches)."""

from __future__ import annotations

import pickle
import queue
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from kstreams.batch.worker.stage_run import Message
from kstreams.errors import KStreamsError
from kstreams.workers.channel import Address, Channel
from kstreams.workers.messages import Order, StageTurn, WorkerReport
from kstreams.workers.slow_workers import SlowWorkers

__all__ = ("Event", "Member", "Run", "RunRequest")


class RunRequest(NamedTuple):
    """One attempt at a batch.

    Attributes:
        batch: The number of the batch.
        attempt: The number of attempts at the batch, including this one.
        turns: The data of each stage, in the order of the stages.
        calls: The packed calls of tasks, by slot.
        width: The number of slots. A slot is a share of a stage's tasks that one worker runs: task
            `t` of a later stage has the slot `t % width`.
    """

    batch: int
    attempt: int
    turns: tuple[StageTurn, ...]
    calls: Mapping[int, Sequence[Message]]
    width: int


class Event(NamedTuple):
    """An event of a run: a report of a worker, the end of its process, or a cancellation."""

    kind: Literal["report", "gone", "cancel"]
    worker: int = -1
    report: WorkerReport | None = None
    error: KStreamsError | None = None


@dataclass(eq=False)
class Member:
    """A connected worker.

    Attributes:
        number: The number of the worker.
        process: The result of `process_key` in the worker's process.
        address: The address at which other workers reach the worker.
        channel: The connection between the driver and the worker.
        loaded: The keys of the stages whose settings were sent to the worker.
        canceled_run: The id of the last canceled run, until the worker has ended that run;
            otherwise 0.
        is_slow: Whether `canceled_run` was canceled because the worker is slow.
    """

    number: int
    process: str
    address: Address
    channel: Channel
    loaded: set[str] = field(default_factory=set)
    canceled_run: int = 0
    is_slow: bool = False

    def send(self, order: Order) -> None:
        """Send an order of the driver to the worker.

        Raises:
            OSError: The connection is closed.
        """
        self.channel.send(pickle.dumps(order, pickle.HIGHEST_PROTOCOL))


@dataclass(eq=False)
class Run:
    """A run that is in progress.

    Attributes:
        number: The id of the run.
        owner: The caller of the run.
        members: The workers of the run, by worker number.
        slots: The worker number of each slot.
        progress: Records the stages that workers finish, to find slow workers; None if speculation
            is disabled.
        left: The numbers of the workers that have not finished the run.
        events: The events of the run that the caller has not handled yet.
        stages: The stage that each worker runs or runs next, by worker number; a worker without an
            item is at stage 0.
        tasks: The task that each worker runs, by worker number. Workers report it only after a
            failed attempt.
    """

    number: int
    owner: object
    members: dict[int, Member]
    slots: tuple[int, ...]
    progress: SlowWorkers | None = None
    left: set[int] = field(init=False)
    events: queue.SimpleQueue[Event] = field(default_factory=queue.SimpleQueue)
    stages: dict[int, int] = field(default_factory=dict)
    tasks: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.left = set(self.members)

    def note_finished(self, worker: int, report: WorkerReport) -> None:
        """Record that a worker has finished the stage of its report, if speculation is enabled."""
        if self.progress is not None:
            self.progress.finished(worker, int(report.fields["stage"]))

    def slots_of(self, worker: int) -> list[int]:
        """Return the slots of a worker."""
        return [slot for slot, number in enumerate(self.slots) if number == worker]
