"""Barriers that an app passes in each batch, where a test can hold it.

They use only public hooks: an interceptor, a durable log, and `on_batch`.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kstreams import Record
from kstreams.app import BatchReport
from kstreams.ids import TaskId
from kstreams.state.log.directory import DirectoryObjectStore

__all__ = ("BEFORE_COMMIT", "PHASES", "Barriers", "GatedLog", "GatedProcess")

BEFORE_COMMIT = ("running", "written", "task-done", "all-done")
"""Phases of an uncommitted batch:

a task processes records; it has written its output; it has written its state; the driver has the
results of all tasks.
"""

PHASES = (*BEFORE_COMMIT, "committed", "published")
"""Two phases after the commit: before results are published, and when the batch is noted as done.
"""


@dataclass(frozen=True)
class Barriers:
    """The barriers of one app, in a folder that all its processes share."""

    folder: str

    def close(self, phase: str) -> None:
        """Hold every process that reaches a phase."""
        Path(self.folder, phase).touch()

    def hold_only(self, phase: str, pid: int) -> None:
        """Release all processes except one, including later arrivals."""
        Path(self.folder, phase).write_text(str(pid))

    def open(self, phase: str) -> None:
        """Release all processes in a phase, including later arrivals."""
        Path(self.folder, phase).unlink()

    def reach(self, phase: str) -> None:
        """Pass a barrier, or wait at it until it is open."""
        if self._holds(phase):
            with Path(self.folder, f"{phase}.held").open("a") as file:
                file.write(f"{os.getpid()}\n")
            while self._holds(phase):
                time.sleep(0.01)

    def _holds(self, phase: str) -> bool:
        try:
            return Path(self.folder, phase).read_text() in ("", str(os.getpid()))
        except FileNotFoundError:
            return False

    def held(self, phase: str) -> list[int]:
        """Return the processes that have been held in a phase, in order."""
        try:
            text = Path(self.folder, f"{phase}.held").read_text()
        except FileNotFoundError:
            return []
        return [int(line) for line in text.split("\n")[:-1]]

    def on_batch(self, _: BatchReport) -> None:
        """The callback for an app's `on_batch`."""
        self.reach("published")


@dataclass(frozen=True)
class GatedProcess:
    """An interceptor: the first record of each batch in a node passes a barrier."""

    barriers: Barriers
    node: str

    def bind(
        self, node: str, task: TaskId, process: Callable[[Record[Any, Any]], None]
    ) -> Callable[[Record[Any, Any]], None]:
        if node != self.node:
            return process
        fresh = [True]

        def gated(record: Record[Any, Any]) -> None:
            if fresh:
                fresh.clear()
                # Represents a process of a lost executor that does not notice the loss.
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
                self.barriers.reach("running")
            process(record)

        return gated


@dataclass(frozen=True)
class GatedLog:
    """A durable log in a directory, with barriers around the writes of a batch."""

    root: str
    barriers: Barriers

    def open(self) -> GatedStore:
        return GatedStore(DirectoryObjectStore(self.root), self.barriers)


class GatedStore:
    """An object store that passes barriers before and after packs and commits."""

    def __init__(self, inner: DirectoryObjectStore, barriers: Barriers) -> None:
        self._inner = inner
        self._gates = barriers

    def put_if_absent(self, name: str, data: bytes) -> bool:
        before = after = None
        if name.startswith("commits/"):
            before, after = "all-done", "committed"
        elif name.endswith(".pack"):
            before, after = "written", "task-done"
        if before is not None:
            self._gates.reach(before)
        created = self._inner.put_if_absent(name, data)
        if after is not None:
            self._gates.reach(after)
        return created

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        return self._inner.get(name, start, length)

    def list(self, prefix: str) -> Iterator[str]:
        return self._inner.list(prefix)

    def delete(self, names: Iterable[str]) -> None:
        self._inner.delete(names)
