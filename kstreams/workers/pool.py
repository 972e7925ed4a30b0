"""The driver's pool of worker processes, which all of its queries share."""

from __future__ import annotations

import logging
import pickle
import queue
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

from kstreams.batch.messages.envelope import Content, Envelope
from kstreams.batch.worker.stage_run import Message
from kstreams.errors import ExecutionError, KStreamsError
from kstreams.execution.executor import BatchCanceledError, TaskFailedError, WorkerLostError
from kstreams.workers.channel import Address, Channel, Listener
from kstreams.workers.failure import error_from
from kstreams.workers.launcher import Door, Launcher
from kstreams.workers.messages import (
    CancelRun,
    ForgetStages,
    Leave,
    LoadStage,
    Order,
    RunStages,
    StageTurn,
    Welcome,
    WorkerReport,
)
from kstreams.workers.slots import assigned_slots

__all__ = ("RunRequest", "WorkerPool")

_LOG = logging.getLogger(__name__)
_POLL_S = 0.02
_START_S = 120.0
"""The maximum time until the first worker connects."""
_END_S = 5.0
"""The maximum time for workers to end by themselves."""


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


class _Event(NamedTuple):
    """An event of a run: a report of a worker, the end of its process, or a cancellation."""

    kind: Literal["report", "gone", "cancel"]
    worker: int = -1
    report: WorkerReport | None = None


@dataclass(eq=False)
class _Member:
    """A connected worker."""

    number: int
    process: str
    address: Address
    channel: Channel
    loaded: set[str] = field(default_factory=set)

    def send(self, order: Order) -> None:
        self.channel.send(pickle.dumps(order, pickle.HIGHEST_PROTOCOL))


@dataclass(eq=False)
class _Run:
    """A run that is in progress."""

    number: int
    owner: object
    members: dict[int, _Member]
    slots: tuple[int, ...]
    events: queue.SimpleQueue[_Event] = field(default_factory=queue.SimpleQueue)
    stages: dict[int, int] = field(default_factory=dict)

    def slots_of(self, worker: int) -> list[int]:
        return [slot for slot, number in enumerate(self.slots) if number == worker]


class WorkerPool:
    """Runs batches of any number of queries on connected workers.

    Several threads may run batches at the same time; each worker runs their stages in the order of
    arrival.

    Args:
        launcher: Starts the worker processes.
        size: The number of workers.
        address: The address at which the driver listens: the path of a Unix socket, or a host and
            the port 0.
        own: The path for the sockets of workers; empty for TCP.

    Raises:
        OSError: The address cannot be used.
    """

    def __init__(self, launcher: Launcher, size: int, *, address: Address, own: str) -> None:
        self.size = size
        self._launcher = launcher
        secret = secrets.token_bytes(32)
        self._changed = threading.Condition()
        self._members: dict[int, _Member] = {}
        self._leaving: list[_Member] = []
        self._ran_at = self._changed_at = time.monotonic()
        self._numbers: dict[str, int] = {}  # the last number of each process
        self._runs: dict[int, _Run] = {}
        self._run_numbers = count(1)
        self._slots: WeakKeyDictionary[object, tuple[int, ...]] = WeakKeyDictionary()
        self._is_closed = False
        self._listener = Listener(address, secret, self._admit)
        self.door = Door(self._listener.address, secret, own)

    def start(self) -> None:
        """Start the workers, without waiting for them.

        Raises:
            KStreamsError: They cannot be started.
        """
        self._launcher.launch(self.door)

    def grow(self, size: int) -> None:
        """Allow more workers from now on; the next batch starts them."""
        if size > self.size:
            self.size = size
            self._launcher.grow(size)

    # ------------------------------------------------------------ batches

    def run(self, request: RunRequest, stages: Sequence[LoadStage], owner: object) -> list[Content]:
        """Run all stages of a batch, and return the results of its tasks.

        Args:
            request: The batch.
            stages: The settings of its stages; each worker gets them once.
            owner: The caller, for `cancel`.

        Raises:
            WorkerLostError: A worker ended; the batch may run again.
            TaskFailedError: A task failed; the batch may run again.
            BatchCanceledError: `cancel` was called.
            KStreamsError: No worker can be started.
        """
        members = self._await_members(request.width)
        run = self._assigned(members, request, owner)
        with self._changed:
            self._runs[run.number] = run
        try:
            self._send(run, request, stages)
            return self._results(run)
        except BaseException:
            self._cancel(run, interrupt=False)
            raise
        finally:
            with self._changed:
                del self._runs[run.number]
                self._ran_at = time.monotonic()

    def cancel(self, owner: object) -> None:
        """Interrupt the current batch of an owner, if there is one; may be called in any thread."""
        with self._changed:
            found = [run for run in self._runs.values() if run.owner is owner]
        for run in found:
            self._cancel(run, interrupt=True)
            run.events.put(_Event("cancel"))

    def _await_members(self, width: int) -> dict[int, _Member]:
        """Wait for workers; return the connected workers by number."""
        wanted = min(width, self.size)
        began = time.monotonic()
        with self._changed:
            while True:
                if self._is_closed:
                    raise BatchCanceledError
                if len(self._members) >= wanted:
                    break
                self._launcher.launch(self.door)
                now = time.monotonic()
                if self._members and now - self._changed_at > self._launcher.patience_s:
                    break
                if now - began > _START_S:
                    raise ExecutionError(
                        f"no worker process has connected to the driver within {_START_S:.0f} s",
                        hint="see the output of the worker processes, and the free cores.",
                    )
                self._changed.wait(_POLL_S)
            return dict(self._members)

    def _assigned(self, members: Mapping[int, _Member], request: RunRequest, owner: object) -> _Run:
        slots = assigned_slots(request.width, sorted(members), self._slots.get(owner, ()))
        self._slots[owner] = slots
        used = {slots[slot] for slot in request.calls}
        if len(request.turns) > 1:  # records may reach a task of any slot
            used = set(slots)
        return _Run(next(self._run_numbers), owner, {n: members[n] for n in sorted(used)}, slots)

    def _send(self, run: _Run, request: RunRequest, stages: Sequence[LoadStage]) -> None:
        peers: dict[int, Address] = {}
        if len(request.turns) > 1:
            peers = {number: member.address for number, member in run.members.items()}
        for number, member in run.members.items():
            calls = [
                payload
                for slot in run.slots_of(number)
                for _, payload in request.calls.get(slot, ())
            ]
            order = RunStages(
                run.number,
                request.batch,
                request.attempt,
                request.turns,
                run.slots,
                peers,
                calls,
            )
            try:
                for stage in stages:
                    if stage.stage not in member.loaded:
                        member.send(stage)
                        member.loaded.add(stage.stage)
                member.send(order)
            except OSError:
                run.events.put(_Event("gone", number))

    def _results(self, run: _Run) -> list[Content]:
        results: list[Content] = []
        left = set(run.members)
        while left:
            event = run.events.get()
            if event.kind == "cancel":
                raise BatchCanceledError
            if event.kind == "gone" or event.report is None:
                if event.worker in left:
                    raise self._lost(run, event.worker)
                continue
            report = event.report
            match report.kind:
                case "done":
                    left.discard(event.worker)
                    results += [Envelope.unpack(each).content for each in report.payloads]
                case "stage":
                    run.stages[event.worker] = int(report.fields["stage"])
                case "lost":
                    raise self._lost(run, int(report.fields["worker"]))
                case "failed":
                    raise TaskFailedError(error_from(report.fields["error"]))
        return results

    def _lost(self, run: _Run, worker: int) -> WorkerLostError:
        self._forget(run.members[worker])
        return WorkerLostError(run.stages.get(worker, 0), run.slots_of(worker))

    def _cancel(self, run: _Run, *, interrupt: bool) -> None:
        for member in run.members.values():
            with suppress(OSError):
                member.send(CancelRun(run.number, interrupt))

    def forget(self, stages: Sequence[LoadStage]) -> None:
        """Release the settings of stages in all workers, because their query has ended."""
        keys = tuple(each.stage for each in stages)
        with self._changed:
            members = list(self._members.values())
        for member in members:
            member.loaded.difference_update(keys)
            with suppress(OSError):
                member.send(ForgetStages(keys))

    # ------------------------------------------------------------ workers

    def _admit(self, channel: Channel) -> None:
        """Accept a worker, and receive its reports, in the thread of its connection."""
        member: _Member | None = None
        try:
            hello = WorkerReport.unpack(channel.receive())
            member = self._welcome(channel, hello)
            while member is not None:
                report = WorkerReport.unpack(channel.receive())
                run = self._runs.get(report.fields["run"])
                if run is not None:
                    run.events.put(_Event("report", member.number, report))
        except (OSError, EOFError):
            pass
        except (KStreamsError, KeyError, TypeError, ValueError):
            _LOG.exception("a worker has sent an unreadable message; its connection is closed")
        finally:
            if member is not None:
                self._forget(member)
            channel.close()

    def _welcome(self, channel: Channel, hello: WorkerReport) -> _Member | None:
        """Assign a number to a worker; return None if all numbers are taken."""
        fields = hello.fields
        process, wanted = str(fields["process"]), int(fields["wanted"])
        address = fields["address"]
        with self._changed:
            free = [number for number in range(self.size) if number not in self._members]
            if self._is_closed or not free:
                channel.send(pickle.dumps(Leave()))
                return None
            best = [self._numbers.get(process), wanted, free[0]]
            number = next(each for each in best if each in free)
            self._numbers[process] = number
            place = address if isinstance(address, str) else (str(address[0]), int(address[1]))
            member = _Member(number, process, place, channel)
            member.send(Welcome(number))
            self._members[number] = member
            self._changed_at = time.monotonic()
            self._changed.notify_all()
            return member

    def _forget(self, member: _Member) -> None:
        """Remove a worker whose process has ended, and fail the batches that it runs."""
        member.channel.close()
        with self._changed:
            if self._members.get(member.number) is member:
                del self._members[member.number]
                self._changed_at = time.monotonic()
            if member in self._leaving:
                self._leaving.remove(member)
            runs = [run for run in self._runs.values() if member in run.members.values()]
            self._changed.notify_all()
        for run in runs:
            run.events.put(_Event("gone", member.number))

    # ------------------------------------------------------------ the end

    def release(self) -> None:
        """End the workers after their current runs; a later batch starts workers again."""
        with self._changed:
            members = list(self._members.values())
            self._leaving += members
            self._members.clear()
        for member in members:
            with suppress(OSError):
                member.send(Leave())

    @property
    def has_workers(self) -> bool:
        """Whether workers are connected."""
        return bool(self._members)

    @property
    def idle_s(self) -> float:
        """The seconds since the last run; 0 during a run."""
        return 0.0 if self._runs else time.monotonic() - self._ran_at

    def close(self) -> None:
        """End all workers; a batch that still runs is canceled."""
        with self._changed:
            self._is_closed = True
            runs = list(self._runs.values())
            self._changed.notify_all()
        for run in runs:
            self._cancel(run, interrupt=True)
            run.events.put(_Event("cancel"))
        self.release()
        end = time.monotonic() + _END_S
        with self._changed:
            while self._leaving and time.monotonic() < end:
                self._changed.wait(_POLL_S)
            members = list(self._leaving)
        for member in members:
            member.channel.close()
        self._listener.close()
        self._launcher.stop()
