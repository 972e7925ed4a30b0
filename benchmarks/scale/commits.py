"""The driver's log: size and duration of a commit by the number of tasks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.state.one_task import StoredTask
from kstreams.processors import TaskId
from kstreams.state import Memory
from kstreams.state.log.commits import Commit, CommitLog
from kstreams.state.log.directory import Directory
from kstreams.state.log.traffic import CountedObjects

__all__ = ("CommitSize", "commit_sizes")

TASKS = (4, 64, 1_000)
_VERSIONS = 64
_CHANGED = 50
_ROUNDS = 9


@dataclass(frozen=True)
class CommitSize:
    """The commit of one batch in a query.

    Attributes:
        tasks: The number of tasks with a pointer in the commit.
        size_bytes: The size of the object.
        append_ms: The median time to write the object to a directory.
    """

    tasks: int
    size_bytes: int
    append_ms: float


def commit_sizes(home: Path) -> list[CommitSize]:
    """Write commits of increasing numbers of tasks below a folder; return their sizes and times.

    The pointers are those of a task that has run for a while: they name the task's newest deltas.
    """
    task = StoredTask(Memory(), home / "task", Directory(str(home / "task-log")))
    task.load(1_000)
    pointers = []
    for _ in range(_VERSIONS):
        task.commit(task.checkout(), task.drawn(_CHANGED))
        pointers.append(task.pointer.to_json())
    task.background.drain()
    return [_commit(home, tasks, pointers) for tasks in TASKS]


def _commit(home: Path, tasks: int, pointers: list[str]) -> CommitSize:
    objects = CountedObjects(Directory(str(home / f"commits-{tasks}")).open())
    log = CommitLog(objects, "commits/query")
    named = {TaskId("group", n): pointers[n % len(pointers)] for n in range(tasks)}
    seconds = []
    for batch in range(_ROUNDS):
        begin = time.perf_counter()
        log.append(Commit(batch, "run", 0, named, fingerprint="0" * 64))
        seconds.append(time.perf_counter() - begin)
    traffic = objects.take()
    return CommitSize(tasks, traffic.put_bytes // _ROUNDS, round(1000 * median(seconds), 2))
