"""The driver's pool of worker processes, which all of its queries share."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import count
from weakref import WeakKeyDictionary

from kstreams.batch.messages.envelope import Content, Envelope
from kstreams.errors import KStreamsError
from kstreams.execution.executor import BatchCanceledError, TaskFailedError, WorkerLostError
from kstreams.workers.channel import Address
from kstreams.workers.failure import error_from
from kstreams.workers.launcher import Launcher
from kstreams.workers.members import Members
from kstreams.workers.messages import LoadStage, ReportCurrent, RunStages, WorkerReport
from kstreams.workers.runs import Event, Member, Run, RunRequest
from kstreams.workers.slots import assigned_slots
from kstreams.workers.slow_workers import SlowWorkers, SlowWorkersError, Speculation

__all__ = ("WorkerPool",)

_LOG = logging.getLogger(__name__)
_BLOCKED_S = 5.0
"""The time after which a worker that runs code of another query counts as blocked, in seconds.

A blocked worker is replaced for the batch, if another worker is idle.
"""


class WorkerPool:
    """Runs batches of any number of queries on connected workers.

    Several threads may run batches at the same time. A worker runs one stage at a time: the one
    whose input was complete first.

    Args:
        launcher: Starts the worker processes.
        size: The number of workers.
        address: The address at which the driver listens: the path of a Unix socket, or a host and
            the port 0.
        worker_prefix: The path prefix for the sockets of workers; see `DriverEndpoint`.
        speculation: The conditions for running a batch again without its slow workers; None: a
            batch never runs again because of them.

    Attributes:
        members: The connected workers.

    Raises:
        OSError: The address cannot be used.
    """

    def __init__(
        self,
        launcher: Launcher,
        size: int,
        *,
        address: Address,
        worker_prefix: str,
        speculation: Speculation | None = None,
    ) -> None:
        self._speculation = speculation
        self._lock = threading.Lock()
        self._ran_at = time.monotonic()
        self._runs: dict[int, Run] = {}
        self._run_numbers = count(1)
        self._slots: WeakKeyDictionary[object, tuple[int, ...]] = WeakKeyDictionary()
        self.members = Members(
            launcher,
            size,
            address=address,
            worker_prefix=worker_prefix,
            on_report=self._on_report,
            on_end=self._on_end,
        )

    def run(self, request: RunRequest, stages: Sequence[LoadStage], owner: object) -> list[Content]:
        """Run all stages of a batch, and return the results of its tasks.

        If some workers are slow, the run is canceled, and the batch runs again on the other
        workers. Only the results of the last run are used. The same happens if a worker does not
        begin its part for 5 s because it runs code of another query, while another one is idle.

        Args:
            request: The attempt at the batch, with its task calls.
            stages: The settings of its stages, which each worker gets only once.
            owner: The object that identifies the caller in `cancel`.

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
                    "batch %d: workers %s %s: the batch runs again without them",
                    request.batch,
                    sorted(slow.workers),
                    slow.reason,
                )
                request = request._replace(attempt=request.attempt + 1)

    def _run(
        self, request: RunRequest, stages: Sequence[LoadStage], owner: object
    ) -> list[Content]:
        members = self.members.free(request.width)
        run = self._assigned(members, request, owner)
        with self._lock:
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
            with self._lock:
                del self._runs[run.number]
                self._ran_at = time.monotonic()

    def cancel(self, owner: object) -> None:
        """Cancel the current batch of an owner, if there is one: its `run` raises an error.

        The method may be called in any thread.
        """
        with self._lock:
            found = [run for run in self._runs.values() if run.owner is owner]
        for run in found:
            self._cancel(run)
            run.events.put(Event("cancel"))

    def _assigned(self, members: Mapping[int, Member], request: RunRequest, owner: object) -> Run:
        slots = assigned_slots(request.width, sorted(members), self._slots.get(owner, ()))
        self._slots[owner] = slots
        used = {slots[slot] for slot in request.calls}
        if len(request.turns) > 1:  # records may reach a task of any slot
            used = set(slots)
        progress = None
        if self._speculation is not None and len(used) > 1:
            progress = SlowWorkers(self._speculation, used)
        used_members = {number: members[number] for number in sorted(used)}
        return Run(next(self._run_numbers), owner, used_members, slots, progress)

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
                raise event.error or BatchCanceledError
            if event.kind == "gone" or event.report is None:
                if event.worker in run.left:
                    raise self._remove_lost(run, event.worker)
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
                    run.tasks.pop(event.worker, None)
                case "task":
                    run.tasks[event.worker] = int(report.fields["task"])
                case "current":
                    self._check_blocked(run, event.worker, report)
                case "lost":
                    raise self._remove_lost(run, int(report.fields["worker"]))
                case "failed":
                    raise TaskFailedError(error_from(report.fields["error"]))
        return results

    def _next_event(self, run: Run) -> Event:
        check_at = time.monotonic() + _BLOCKED_S
        while True:
            interval_s = _BLOCKED_S if run.progress is None else run.progress.interval_s
            with suppress(queue.Empty):
                return run.events.get(timeout=interval_s)
            if run.progress is not None and (slow := run.progress.find()):
                raise SlowWorkersError(slow, "are slower than the others")
            if time.monotonic() >= check_at:
                self._request_current(run)
                check_at += _BLOCKED_S

    def _request_current(self, run: Run) -> None:
        """Make the workers that delay a run report which run they execute."""
        if self._has_idle_worker():
            for number in run.left:
                with suppress(OSError):  # the end of a worker is an event
                    run.members[number].send(ReportCurrent(run.number))

    def _check_blocked(self, run: Run, worker: int, report: WorkerReport) -> None:
        """Raise `SlowWorkersError` if code of another run blocks a worker and another is idle."""
        current, seconds = int(report.fields["current"]), float(report.fields["seconds"])
        is_blocked = current not in (-1, run.number) and seconds >= _BLOCKED_S
        if is_blocked and worker in run.left and self._has_idle_worker():
            raise SlowWorkersError(frozenset({worker}), "are blocked by code of another query")

    def _has_idle_worker(self) -> bool:
        with self._lock:
            busy = {number for run in self._runs.values() for number in run.left}
        return not self.members.available().keys() <= busy

    def _remove_lost(self, run: Run, worker: int) -> WorkerLostError:
        """Remove a worker that ended from the pool, and return the error for its run."""
        self.members.remove(run.members[worker])
        stage, task = run.stages.get(worker, 0), run.tasks.get(worker)
        return WorkerLostError(stage, run.slots_of(worker), task)

    def _cancel(self, run: Run, *, slow: Collection[int] = ()) -> None:
        self.members.cancel(run.number, run.members.values(), run.left, slow)

    def forget(self, stages: Sequence[LoadStage]) -> None:
        """Release the settings of stages in all workers, because their query has ended."""
        self.members.forget_stages(tuple(each.stage for each in stages))

    # ------------------------------------------------------------ reports of workers

    def _on_report(self, member: Member, report: WorkerReport) -> None:
        run = self._runs.get(report.fields["run"])
        if run is not None:
            run.events.put(Event("report", member.number, report))

    def _on_end(self, member: Member) -> None:
        with self._lock:
            runs = [run for run in self._runs.values() if member in run.members.values()]
        for run in runs:
            run.events.put(Event("gone", member.number))

    # ------------------------------------------------------------ the end

    @property
    def idle_s(self) -> float:
        """The seconds since the last run; 0 during a run."""
        return 0.0 if self._runs else time.monotonic() - self._ran_at

    def check(self) -> None:
        """Raise the error of `fail`, if it was called."""
        self.members.check()

    def fail(self, error: KStreamsError) -> None:
        """Raise an error in all current and later runs, because no workers can be started."""
        self.members.fail(error)
        self._end_runs(error)

    def close(self) -> None:
        """End all workers; a batch that still runs is canceled."""
        self.members.begin_close()
        self._end_runs()
        self.members.close()

    def _end_runs(self, error: KStreamsError | None = None) -> None:
        with self._lock:
            runs = list(self._runs.values())
        for run in runs:
            self._cancel(run)
            run.events.put(Event("cancel", error=error))
