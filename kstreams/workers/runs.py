"""The driver's view of its workers, and of the runs that they take part in."""

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
        turns: The stages, in order.
        calls: The packed calls of tasks, by slot.
        width: The number of slots.
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
        process: The id of its process.
        address: The address for other workers.
        channel: The connection.
        loaded: The keys of the stages whose settings it has.
        canceled_run: The last canceled run, until the worker has ended it; 0 without such a run.
        is_slow: Whether this run was canceled because the worker is slow.
    """

    number: int
    process: str
    address: Address
    channel: Channel
    loaded: set[str] = field(default_factory=set)
    canceled_run: int = 0
    is_slow: bool = False

    def send(self, order: Order) -> None:
        """Send an order.

        Raises:
            OSError: The connection is closed.
        """
        self.channel.send(pickle.dumps(order, pickle.HIGHEST_PROTOCOL))


@dataclass(eq=False)
class Run:
    """A run that is in progress.

    Attributes:
        number: The number of the run.
        owner: The caller of the run.
        members: The workers, by number.
        slots: The worker of each slot.
        progress: The progress of the workers, if speculation is enabled.
        left: The workers that have not finished the run.
        events: The events of the run.
        stages: The stage that each worker runs or runs next; 0 if it is missing.
        tasks: The task that each worker runs, if it has reported the task.
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
        """Note that a worker has finished the stage of its report."""
        if self.progress is not None:
            self.progress.finished(worker, int(report.fields["stage"]))

    def slots_of(self, worker: int) -> list[int]:
        """Return the slots of a worker."""
        return [slot for slot, number in enumerate(self.slots) if number == worker]
