"""The task calls of a batch (`TaskCall`), which tasks in Spark's workers get from the driver.

The functions of a streaming query are fixed at its start, so they cannot carry the calls of a
batch. Each task asks the driver, over an authenticated connection of its worker process.
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

from kstreams.batch.worker.stage_run import Cuts
from kstreams.global_tables.versions import Versions
from kstreams.workers.channel import Address, Channel, Listener, connect
from kstreams.workers.messages import LoadStage

__all__ = (
    "CallServer",
    "ServerAddress",
    "StageCalls",
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
class StageCalls:
    """The task calls of one stage in one attempt at a batch.

    Attributes:
        batch: The number of the batch.
        attempt: The number of attempts at the batch, including this one.
        cuts: `Plan.cuts` of the batch: the plan revision that reduced the input of a task.
        versions: The versions of global tables that the stage reads.
        calls: The packed envelopes with the calls of each task, by task number.
    """

    batch: int
    attempt: int
    cuts: Cuts
    versions: Versions
    calls: Mapping[int, Sequence[bytes]]

    def of_task(self, task: int) -> StageCalls:
        """Return a copy that contains only the calls of one task."""
        own = {task: self.calls[task]} if task in self.calls else {}
        return StageCalls(self.batch, self.attempt, self.cuts, self.versions, own)


class CallServer:
    """Sends tasks their calls, and tracks the tasks whose process ends before they do.

    Args:
        address: The address to listen at; see `Listener`.
        secret: The secret of the workers.
        stages: The settings of the stages, which workers also get from this server.
    """

    def __init__(self, address: Address, secret: bytes, stages: Sequence[LoadStage]) -> None:
        self._stages = stages
        self._lock = threading.Lock()
        self._calls: tuple[StageCalls, ...] = ()
        self._lost: Counter[tuple[int, int]] = Counter()
        self._listener = Listener(address, secret, self._serve)
        self.address = ServerAddress(self._listener.address, secret)

    def begin(self, calls: Sequence[StageCalls]) -> None:
        """Begin an attempt at a batch: send these calls to tasks from now on.

        Args:
            calls: The calls of each stage, in the order of the stages.
        """
        with self._lock:
            self._calls = tuple(calls)
            self._lost.clear()

    def lost(self) -> dict[tuple[int, int], int]:
        """Return the tasks whose process ended most often while they ran, and how often.

        The keys are the numbers of stage and task. When Spark gives up a batch, it also ends the
        processes of other tasks.
        """
        with self._lock:
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
                        with self._lock:
                            found = self._calls[stage].of_task(task) if self._calls else None
                        channel.send(pickle.dumps(found))
                    case "done":
                        running.discard((stage, task))
        with self._lock:
            self._lost.update(running)
        channel.close()


# ------------------------------------------------------------ in a worker

_LOCK = threading.Lock()
_channels: dict[Address, Channel] = {}


def settings_of(server: ServerAddress, stage: int) -> LoadStage:
    """Return the settings of a stage, requested from the driver."""
    found: LoadStage = _request(server, {"kind": "settings", "stage": stage})
    return found


def calls_of_task(server: ServerAddress, stage: int, task: int) -> StageCalls | None:
    """Return the calls of a task; None if no batch runs, as the query ends."""
    found: StageCalls | None = _request(server, {"kind": "calls", "stage": stage, "task": task})
    return found


def task_is_done(server: ServerAddress, stage: int, task: int) -> None:
    """Tell the driver that a task has ended, with or without an error."""
    request = {"kind": "done", "stage": stage, "task": task}
    _use(server, lambda channel: channel.send(json.dumps(request).encode()))


def _request(server: ServerAddress, request: Mapping[str, Any]) -> Any:  # noqa: ANN401  # the type depends on the request
    def send(channel: Channel) -> bytes:
        channel.send(json.dumps(request).encode())
        return channel.receive()

    return pickle.loads(_use(server, send))  # noqa: S301  # the driver's


def _use(server: ServerAddress, work: Callable[[Channel], Any]) -> Any:  # noqa: ANN401  # the result of the work
    """Return the result of `work` on this process's connection to a driver.

    If the connection is closed, connects again and repeats `work`, once.
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
