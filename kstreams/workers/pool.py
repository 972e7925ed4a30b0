"""The driver's pool of worker processes, which all of its queries share."""

from __future__ import annotations

import logging
import pickle
import queue
import secrets
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import count
from weakref import WeakKeyDictionary

from kstreams.batch.messages.envelope import Content, Envelope
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
    RunStages,
    Welcome,
    WorkerReport,
)
from kstreams.workers.runs import Event, Member, Run, RunRequest
from kstreams.workers.slots import assigned_slots
from kstreams.workers.slow_workers import SlowWorkers, SlowWorkersError, Speculation

__all__ = ("WorkerPool",)

_LOG = logging.getLogger(__name__)
_POLL_S = 0.02
_START_S = 120.0
"""The maximum time until the first worker connects."""
_END_S = 5.0
"""The maximum time for workers to end by themselves."""


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
        speculation: When a batch runs again without its slow workers; None: never.

    Raises:
        OSError: The address cannot be used.
    """

    def __init__(
        self,
        launcher: Launcher,
        size: int,
        *,
        address: Address,
        own: str,
        speculation: Speculation | None = None,
    ) -> None:
        self.size = size
        self._speculation = speculation
        self._launcher = launcher
        secret = secrets.token_bytes(32)
        self._changed = threading.Condition()
        self._members: dict[int, Member] = {}
        self._leaving: list[Member] = []
        self._ran_at = self._changed_at = time.monotonic()
        self._numbers: dict[str, int] = {}  # the last number of each process
        self._runs: dict[int, Run] = {}
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

        If some workers are slow, the batch runs again without them, while they finish their part;
        the results of only one of both runs are used.

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
        while True:
            try:
                return self._run(request, stages, owner)
            except SlowWorkersError as slow:
                _LOG.warning(
                    "batch %d: workers %s are slow: the batch runs again without them",
                    request.batch,
                    sorted(slow.workers),
                )
                request = request._replace(attempt=request.attempt + 1)

    def _run(
        self, request: RunRequest, stages: Sequence[LoadStage], owner: object
    ) -> list[Content]:
        members = self._await_members(request.width)
        run = self._assigned(members, request, owner)
        with self._changed:
            self._runs[run.number] = run
        try:
            self._send(run, request, stages)
            return self._results(run)
        except SlowWorkersError as exc:
            self._cancel(run, slow=exc.workers)
            raise
        except BaseException:
            self._cancel(run)
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
            self._cancel(run)
            run.events.put(Event("cancel"))

    def _await_members(self, width: int) -> dict[int, Member]:
        """Wait for workers; return those without a canceled run, by number."""
        wanted = min(width, self.size)
        began = time.monotonic()
        with self._changed:
            while True:
                if self._is_closed:
                    raise BatchCanceledError
                free = {n: each for n, each in self._members.items() if not each.canceled_run}
                slow = sum(each.is_slow for each in self._members.values())
                if free and len(free) >= wanted - slow:
                    return free
                self._launcher.launch(self.door)
                now = time.monotonic()
                if free and now - self._changed_at > self._launcher.patience_s:
                    return free
                if now - began > _START_S:
                    raise ExecutionError(
                        f"no worker process has connected to the driver within {_START_S:.0f} s, "
                        f"and {len(self._members)} worker processes run code of canceled batches",
                        hint="see the output of the worker processes, and the free cores.",
                    )
                self._changed.wait(_POLL_S)

    def _assigned(self, members: Mapping[int, Member], request: RunRequest, owner: object) -> Run:
        slots = assigned_slots(request.width, sorted(members), self._slots.get(owner, ()))
        self._slots[owner] = slots
        used = {slots[slot] for slot in request.calls}
        if len(request.turns) > 1:  # records may reach a task of any slot
            used = set(slots)
        progress = None
        if self._speculation is not None and len(used) > 1:
            progress = SlowWorkers(self._speculation, used)
        own = {number: members[number] for number in sorted(used)}
        return Run(next(self._run_numbers), owner, own, slots, progress)

    def _send(self, run: Run, request: RunRequest, stages: Sequence[LoadStage]) -> None:
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
                self._speculation is not None,
            )
            try:
                for stage in stages:
                    if stage.stage not in member.loaded:
                        member.send(stage)
                        member.loaded.add(stage.stage)
                member.send(order)
            except OSError:
                run.events.put(Event("gone", number))

    def _results(self, run: Run) -> list[Content]:
        results: list[Content] = []
        while run.left:
            event = self._next_event(run)
            if event.kind == "cancel":
                raise BatchCanceledError
            if event.kind == "gone" or event.report is None:
                if event.worker in run.left:
                    raise self._lost(run, event.worker)
                continue
            report = event.report
            match report.kind:
                case "done":
                    run.left.discard(event.worker)
                    run.note_finished(event.worker, report)
                    results += [Envelope.unpack(each).content for each in report.payloads]
                case "sent":
                    run.note_finished(event.worker, report)
                case "stage":
                    run.stages[event.worker] = int(report.fields["stage"])
                case "lost":
                    raise self._lost(run, int(report.fields["worker"]))
                case "failed":
                    raise TaskFailedError(error_from(report.fields["error"]))
        return results

    def _next_event(self, run: Run) -> Event:
        if run.progress is None:
            return run.events.get()
        while True:
            with suppress(queue.Empty):
                return run.events.get(timeout=run.progress.interval_s)
            slow = run.progress.find()
            if slow:
                raise SlowWorkersError(slow)

    def _lost(self, run: Run, worker: int) -> WorkerLostError:
        self._forget(run.members[worker])
        return WorkerLostError(run.stages.get(worker, 0), run.slots_of(worker))

    def _cancel(self, run: Run, *, slow: Collection[int] = ()) -> None:
        """Cancel a run; workers that have not finished it get no further run before they have.

        Args:
            run: The run.
            slow: The slow workers. Only they are not interrupted, because they cost nothing more.
        """
        with self._changed:
            self._changed_at = time.monotonic()
            for number in run.left:
                run.members[number].canceled_run = run.number
                run.members[number].is_slow = number in slow
        for number, member in run.members.items():
            with suppress(OSError):
                member.send(CancelRun(run.number, interrupt=number not in slow))

    def _ended(self, member: Member, run: int) -> None:
        """Give a worker further runs, because it has ended its last canceled run."""
        with self._changed:
            if member.canceled_run == run:
                member.canceled_run, member.is_slow = 0, False
                self._changed.notify_all()

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
        member: Member | None = None
        try:
            hello = WorkerReport.unpack(channel.receive())
            member = self._welcome(channel, hello)
            while member is not None:
                report = WorkerReport.unpack(channel.receive())
                run = self._runs.get(report.fields["run"])
                if report.kind == "canceled":
                    self._ended(member, report.fields["run"])
                elif run is not None:
                    run.events.put(Event("report", member.number, report))
        except (OSError, EOFError):
            pass
        except (KStreamsError, KeyError, TypeError, ValueError):
            _LOG.exception("a worker has sent an unreadable message; its connection is closed")
        finally:
            if member is not None:
                self._forget(member)
            channel.close()

    def _welcome(self, channel: Channel, hello: WorkerReport) -> Member | None:
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
            member = Member(number, process, place, channel)
            member.send(Welcome(number))
            self._members[number] = member
            self._changed_at = time.monotonic()
            self._changed.notify_all()
            return member

    def _forget(self, member: Member) -> None:
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
            run.events.put(Event("gone", member.number))

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
            self._cancel(run)
            run.events.put(Event("cancel"))
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
