"""The server on the driver from which tasks in Spark's workers request their calls (`TaskCall`).

Spark pickles the functions of a streaming query once at its start, so they cannot contain the calls
of a batch. Instead each task requests its calls from the driver, over an authenticated connection.
"""

from __future__ import annotations

import json
import pickle
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from kstreams.execution.executor import BatchAttempt
from kstreams.workers.channel import Address, Channel, Listener, connect
from kstreams.workers.messages import LoadStage, StageTurn

__all__ = (
    "CallServer",
    "ServerAddress",
    "TaskCalls",
    "calls_of_task",
    "settings_of",
    "task_is_done",
)

_CLOSED = (OSError, EOFError)


@dataclass(frozen=True)
class ServerAddress:
    """The address of a driver's `CallServer`, and its secret."""

    address: Address
    secret: bytes = field(repr=False)


@dataclass(frozen=True)
class TaskCalls:
    """The response to a task: its calls in one attempt at a batch.

    Attributes:
        batch: The number of the batch.
        attempt: The number of attempts at the batch, including this one.
        turn: The data of the task's stage in the batch.
        calls: The packed envelopes with the calls; empty if the task is not called.
    """

    batch: int
    attempt: int
    turn: StageTurn
    calls: Sequence[bytes] = field(repr=False)


class CallServer:
    """Sends calls to tasks, and counts the worker processes that die during a task.

    Args:
        address: The address to listen at; see `Listener`.
        secret: The secret of the workers.
        stages: The settings of the stages, which workers also get from this server.
    """

    def __init__(self, address: Address, secret: bytes, stages: Sequence[LoadStage]) -> None:
        self._stages = stages
        self._changed = threading.Condition()
        self._attempt: BatchAttempt | None = None
        self._turns: Sequence[StageTurn] = ()
        self._calls: Sequence[Mapping[int, Sequence[bytes]]] = ()
        self._lost: Counter[tuple[int, int]] = Counter()
        self._listener = Listener(address, secret, self._serve)
        self.address = ServerAddress(self._listener.address, secret)

    def begin(
        self,
        attempt: BatchAttempt,
        turns: Sequence[StageTurn],
        calls: Sequence[Mapping[int, Sequence[bytes]]],
    ) -> None:
        """Begin an attempt at a batch: later requests of tasks get its calls.

        Args:
            attempt: The attempt.
            turns: The data of each stage in the batch, in the order of the stages.
            calls: The packed calls of each stage, by task.
        """
        with self._changed:
            self._attempt, self._turns, self._calls = attempt, turns, calls
            self._lost.clear()

    def lost(self, timeout_s: float) -> dict[tuple[int, int], int]:
        """Return the tasks in which the most worker processes died, each with the number of deaths.

        The keys are the numbers of stage and task. Tasks with fewer deaths are left out: when a
        micro-batch fails, Spark also ends the processes of other tasks.

        Args:
            timeout_s: The maximum time to wait for the end of a process, in seconds: Spark may
                report it before the connection of the process ends here.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._lost, timeout_s)
            most = max(self._lost.values(), default=0)
            return {task: deaths for task, deaths in self._lost.items() if deaths == most}

    def close(self) -> None:
        """Accept no further connections."""
        self._listener.close()

    def _serve(self, channel: Channel) -> None:
        """Answer the requests of a worker process, in the thread of its connection."""
        running: set[tuple[int, int]] = set()
        with suppress(*_CLOSED):
            while True:
                request: dict[str, Any] = json.loads(channel.receive())
                stage, task = int(request["stage"]), int(request.get("task", -1))
                match request["kind"]:
                    case "settings":
                        channel.send(pickle.dumps(self._stages[stage]))
                    case "calls":
                        running.add((stage, task))
                        channel.send(pickle.dumps(self._calls_of(stage, task)))
                    case "done":
                        running.discard((stage, task))
        with self._changed:
            self._lost.update(running)
            self._changed.notify_all()
        channel.close()

    def _calls_of(self, stage: int, task: int) -> TaskCalls | None:
        """Return the calls of a task in the current attempt; None before the first attempt."""
        with self._changed:
            if self._attempt is None:
                return None
            own = self._calls[stage].get(task, ())
            return TaskCalls(self._attempt.batch, self._attempt.attempt, self._turns[stage], own)


# ------------------------------------------------------------ in a worker

_LOCK = threading.Lock()
_channels: dict[Address, Channel] = {}


def settings_of(server: ServerAddress, stage: int) -> LoadStage:
    """Return the settings of a stage, requested from the driver."""
    found: LoadStage = _request(server, {"kind": "settings", "stage": stage})
    return found


def calls_of_task(server: ServerAddress, stage: int, task: int) -> TaskCalls | None:
    """Return the calls of a task, requested from the driver.

    The result is None if no batch runs, because the query is being stopped.
    """
    found: TaskCalls | None = _request(server, {"kind": "calls", "stage": stage, "task": task})
    return found


def task_is_done(server: ServerAddress, stage: int, task: int) -> None:
    """Notify the driver that a task has ended, with or without an error."""
    request = {"kind": "done", "stage": stage, "task": task}
    _use(server, lambda channel: channel.send(json.dumps(request).encode()))


def _request(server: ServerAddress, request: Mapping[str, Any]) -> Any:  # noqa: ANN401  # the type depends on the request
    def send(channel: Channel) -> bytes:
        channel.send(json.dumps(request).encode())
        return channel.receive()

    return pickle.loads(_use(server, send))  # noqa: S301  # the driver's


def _use(server: ServerAddress, work: Callable[[Channel], Any]) -> Any:  # noqa: ANN401  # the result of the work
    """Call a function with this process's connection to a driver, and return its result.

    If the connection turns out to be closed, the call is repeated once with a new connection.
    """
    with _LOCK:
        for attempt in range(2):
            channel = _channels.get(server.address)
            if channel is None:
                channel = _channels[server.address] = connect(server.address, server.secret)
            try:
                return work(channel)
            except _CLOSED:
                channel.close()
                del _channels[server.address]
                if attempt:
                    raise
    raise AssertionError("unreachable")
