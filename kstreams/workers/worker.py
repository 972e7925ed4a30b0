"""A worker process: it runs the stages of batches that the driver sends it."""

from __future__ import annotations

import gc
import os
import pickle
import queue
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count

from kstreams.batch.messages.envelope import DRIVER, Envelope
from kstreams.batch.messages.oversized_batch import Refusal
from kstreams.batch.worker.stage_run import StageRun
from kstreams.batch.worker.stage_settings import StageSettings
from kstreams.batch.worker.worker_state import this_worker
from kstreams.task.gc_pause import gc_pauses
from kstreams.workers.channel import Address, connect
from kstreams.workers.exchange import Exchange, PeerLostError, RunStage
from kstreams.workers.failure import error_json
from kstreams.workers.launcher import DriverEndpoint
from kstreams.workers.messages import (
    CancelRun,
    ForgetStages,
    Leave,
    LoadStage,
    Order,
    ReportCurrent,
    RunStages,
    Welcome,
    WorkerReport,
)

__all__ = ("Worker", "WorkerSettings", "process_key")

_MEMORY = 256 * 1024 * 1024
"""The maximum bytes of received records in memory."""
_CLOSED = (OSError, EOFError)
_FULL_COLLECTION_EVERY = 32
_PATIENCE_S = 5.0
"""The maximum time that code of the user may run on after the driver has closed the connection."""
_INTERRUPT = signal.SIGUSR1
"""The signal that interrupts a run. SIGINT from a terminal is for the driver."""


@dataclass(frozen=True)
class WorkerSettings:
    """The settings of a worker.

    Attributes:
        endpoint: The driver to connect to.
        wanted: The number that the worker requests; the driver may assign another one.
    """

    endpoint: DriverEndpoint
    wanted: int


@dataclass
class _Running:
    """A run of this worker.

    Attributes:
        order: The order of the driver.
        number: The number of this worker.
        results: Packed envelopes for the driver.
    """

    order: RunStages
    number: int
    results: list[bytes]


class Worker:
    """Runs stages of batches until the driver ends the worker.

    The main thread runs one stage at a time. A stage runs when all of its records have arrived;
    until then, the thread can run stages of other queries. Other threads receive the messages of
    the driver and the records of other workers.

    Args:
        settings: The settings of the worker.
        add_to_import_path: Puts folders of the user's modules on the import path.
    """

    def __init__(
        self, settings: WorkerSettings, add_to_import_path: Callable[[tuple[str, ...]], None]
    ) -> None:
        self._add_to_import_path = add_to_import_path
        self._events: queue.SimpleQueue[Order | RunStage] = queue.SimpleQueue()
        endpoint = settings.endpoint
        self._driver = connect(endpoint.address, endpoint.secret)
        prefix = endpoint.worker_prefix
        address: Address = f"{prefix}-{os.getpid()}" if prefix else (self._driver.host, 0)
        self._exchange = Exchange(address, endpoint.secret, self._events.put, memory=_MEMORY)
        self._number = -1
        self._stages: dict[str, StageSettings] = {}
        self._pickled: dict[str, LoadStage] = {}
        self._runs: dict[int, _Running] = {}
        self._ran: set[str] = set()  # stages that have not read ahead since
        self._current = -1  # the run whose code is running
        self._current_since = 0.0
        self._interrupting = threading.Lock()
        self._ended = threading.Event()
        self._collections = count(1)
        self._settings = settings

    def work(self) -> None:
        """Run stages until the driver ends the worker or its connection is closed.

        Call the method in the main thread, which handles signals.
        """
        signal.signal(_INTERRUPT, signal.default_int_handler)
        hello = {
            "wanted": self._settings.wanted,
            "releases": self._settings.endpoint.releases,
            "process": process_key(),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "address": self._exchange.address,
        }
        self._driver.send(WorkerReport("hello", hello).pack())
        threading.Thread(target=self._receive, name="orders", daemon=True).start()
        try:
            self._obey()
        finally:
            self._ended.set()
            self._driver.close()
            self._exchange.close()

    def _receive(self) -> None:
        """Receive the driver's messages, and queue them for the main thread.

        While the main thread executes code of the user, this thread still answers `ReportCurrent`,
        and interrupts the code of a run for `CancelRun`.
        """
        with suppress(*_CLOSED):
            while True:
                order: Order = pickle.loads(self._driver.receive())  # noqa: S301  # the driver's
                if isinstance(order, ReportCurrent):
                    self._report_current(order.run)
                    continue
                if isinstance(order, CancelRun):
                    self._exchange.end(order.run)
                    if order.interrupt:
                        self._interrupt(order.run)
                self._events.put(order)
        self._events.put(Leave(at_once=True))
        if not self._ended.wait(_PATIENCE_S):
            os._exit(1)  # code of the user does not end; no driver waits for it

    def _interrupt(self, run: int) -> None:
        with self._interrupting:
            if self._current == run:
                signal.pthread_kill(threading.main_thread().ident or 0, _INTERRUPT)

    def _report_current(self, waiting: int) -> None:
        """Report the run whose code is running, and for how long, to the driver."""
        with self._interrupting:
            current, seconds = self._current, time.monotonic() - self._current_since
        fields = {"run": waiting, "current": current, "seconds": seconds}
        self._report(WorkerReport("current", fields))

    def _obey(self) -> None:
        idle, leaves = True, False
        while not (leaves and not self._runs):
            if not idle and self._events.empty():
                self._prepare_next()
                idle = True
            event = self._events.get()
            match event:
                case Welcome():
                    self._number = event.number
                case LoadStage():
                    self._pickled[event.stage] = event
                case ForgetStages():
                    for stage in event.stages:
                        self._stages.pop(stage, None)
                        self._pickled.pop(stage, None)
                case CancelRun():
                    self._runs.pop(event.run, None)
                    self._report(WorkerReport("canceled", {"run": event.run}))
                case Leave():
                    leaves = True
                    if event.at_once:
                        return
                case RunStages():
                    self._begin(event)
                    idle = False
                case (run, stage):
                    self._try(run, partial(self._run_stage, run, stage))
                    idle = False

    def _begin(self, order: RunStages) -> None:
        run = order.run
        self._runs[run] = _Running(order, self._number, [])
        for payload in order.calls:
            self._exchange.put(run, Envelope.unpack(payload))
        self._exchange.begin(run, order.peers or (self._number,))
        self._try(run, partial(self._run_stage, run, 0))

    def _try(self, run: int, work: Callable[[], None]) -> None:
        """Call a function that does a part of a run, unless the run has ended in this worker.

        An exception ends the run in this worker, and is reported to the driver.
        """
        if run not in self._runs:
            return
        try:
            with self._interrupting:
                self._current, self._current_since = run, time.monotonic()
            try:
                work()
            finally:
                with self._interrupting:
                    self._current = -1
        except PeerLostError as lost:
            self._end(run, WorkerReport("lost", {"run": run, "worker": lost.worker}))
        except BaseException as exc:  # noqa: BLE001  # the driver raises it
            self._end(run, WorkerReport("failed", {"run": run, "error": error_json(exc)}))

    def _run_stage(self, run: int, stage: int) -> None:
        running = self._runs[run]
        order = running.order
        if stage:
            self._report(WorkerReport("stage", {"run": run, "stage": stage}))
        with closing(self._exchange.take(run, stage)) as given:
            refused = given.refused or self._run_tasks(running, stage, given.all())
        if stage + 1 < len(order.turns):
            self._exchange.finish(order.peers, run, stage + 1, own=running.number, refused=refused)
            if order.reports_progress:
                self._report(WorkerReport("sent", {"run": run, "stage": stage}))
        else:
            self._end(run, WorkerReport("done", {"run": run, "stage": stage}, running.results))

    def _run_tasks(self, running: _Running, stage: int, envelopes: Iterable[Envelope]) -> bool:
        """Run the tasks of a stage.

        Returns:
            Whether a task did not run because its input has too many bytes.
        """
        order = running.order
        turn = order.turns[stage]
        settings = self._stage_settings(turn.stage)
        self._ran.add(turn.stage)
        refused = False
        tasks = StageRun(
            settings,
            this_worker(keeps_tasks=True),
            order.batch,
            turn.cuts,
            turn.versions,
            order.attempt,
            partial(self._note_task, order, stage),
        )
        with gc_pauses():
            for envelope in tasks.run(envelopes):
                refused = refused or isinstance(envelope.content, Refusal)
                if envelope.stage == DRIVER:
                    running.results.append(envelope.pack())
                else:
                    self._pass_on(running, envelope)
        return refused

    def _note_task(self, order: RunStages, stage: int, task: int) -> None:
        """Report that a task begins, if an earlier attempt at the batch has failed.

        If this process dies in the task, the error of the batch names the task.
        """
        if order.attempt > 1:
            self._report(WorkerReport("task", {"run": order.run, "stage": stage, "task": task}))

    def _pass_on(self, running: _Running, envelope: Envelope) -> None:
        """Send records to the worker that runs their task, which may be this one."""
        order = running.order
        number = order.slots[envelope.task % len(order.slots)]
        if number == running.number:
            self._exchange.put(order.run, envelope)
        else:
            self._exchange.send((number, order.peers[number]), order.run, envelope)

    def _stage_settings(self, stage: str) -> StageSettings:
        found = self._stages.get(stage)
        if found is None:
            loaded = self._pickled[stage]
            self._add_to_import_path(loaded.import_path)
            found = self._stages[stage] = pickle.loads(loaded.settings)  # noqa: S301  # the driver's
        return found

    def _end(self, run: int, report: WorkerReport) -> None:
        self._runs.pop(run, None)
        self._exchange.end(run)
        self._report(report)

    def _report(self, report: WorkerReport) -> None:
        with suppress(*_CLOSED):  # the driver is gone; the next order is `Leave`
            self._driver.send(report.pack())

    def _prepare_next(self) -> None:
        """Prefetch records of source topics and collect garbage, while the driver commits."""
        for stage in self._ran & self._stages.keys():
            self._stages[stage].query.io.read_ahead()
        self._ran.clear()
        number = next(self._collections)
        if number == 1:
            gc.collect()
            gc.freeze()
        else:
            gc.collect(1 if number % _FULL_COLLECTION_EVERY else 2)


_PROCESS: list[str] = []


def process_key() -> str:
    """Return a unique id of this process; a forked process has another id than its parent."""
    if not _PROCESS or not _PROCESS[0].startswith(f"{os.getpid()}-"):
        _PROCESS[:] = [f"{os.getpid()}-{os.urandom(8).hex()}"]
    return _PROCESS[0]
