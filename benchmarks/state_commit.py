"""What a task's state costs a micro-batch: checkout, commit, restore; and over many batches.

    python -m benchmarks.state_commit                     # both backends, on the disk of --home
    python -m benchmarks.state_commit --home /dev/shm/x   # the same on a memory file system

Keys have 12 bytes, values 100 (half of it random); milliseconds, median and the slowest of
`--rounds`. The durable log is a directory beside the local state.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import ClassVar

from kstreams.state.checkout import Checkout
from kstreams.state.directory import DirectoryObjectStore
from kstreams.state.durable import Attempt
from kstreams.state.memory import Memory
from kstreams.state.pointer import Pointer
from kstreams.state.task_key import TaskKey, new_attempt
from kstreams.state.versions import TaskVersions
from kstreams.state.working import StateBackend
from kstreams_rocksdb import RocksDB
from kstreams_rocksdb.compaction import run_count

LOAD_STEP = 50_000
CHANGED = (1, 1_000, 10_000, 50_000)


class Task:
    """One task on one backend, with a number of keys stored."""

    clock: ClassVar[Callable[[], float]] = staticmethod(time.perf_counter)

    def __init__(self, backend: StateBackend, home: Path) -> None:
        self.backend, self.home, self.random = backend, home, Random(1)
        self.pointer = Pointer.empty()
        self.stored = 0

    def checkout(self) -> Checkout:
        log = DirectoryObjectStore(self.home / "log")
        versions = TaskVersions(
            self.backend, self.home / "local", log, TaskKey("bench", "g", 0), ["s"]
        )
        return versions.checkout(self.pointer, Attempt(new_attempt(), 0))

    def pairs(self, keys: list[int]) -> list[tuple[bytes, bytes | None]]:
        return [(b"%012d" % key, self.random.randbytes(50) * 2) for key in sorted(keys)]

    def commit(self, checkout: Checkout, pairs: list[tuple[bytes, bytes | None]]) -> None:
        self.pointer = checkout.commit({"s": pairs}, {"offsets": {"topic": {"0": 1}}})

    def load(self, keys: int) -> None:
        while self.stored < keys:
            step = range(self.stored, min(keys, self.stored + LOAD_STEP))
            self.commit(self.checkout(), self.pairs(list(step)))
            self.stored += len(step)


@contextmanager
def timed(into: list[float]) -> Iterator[None]:
    start = Task.clock()
    yield
    into.append(1000 * (Task.clock() - start))


def figures(times: list[float]) -> str:
    return f"{statistics.median(times):8.1f} {max(times):8.1f}"


def commits(task: Task, name: str, rounds: int) -> None:
    for changed in (count for count in CHANGED if count <= task.stored):
        opened: list[float] = []
        read: list[float] = []
        written: list[float] = []
        for _ in range(rounds):
            pairs = task.pairs(task.random.sample(range(task.stored), changed))
            with timed(opened):
                checkout = task.checkout()
            with timed(read):
                checkout.store.multi_get("s", [key for key, _ in pairs])
            with timed(written):
                task.commit(checkout, pairs)
        print(
            f"{name:12} {task.stored:9,} {changed:7,} | {figures(opened)} | {figures(read)} | "
            f"{figures(written)}",
            flush=True,
        )


def restore(task: Task, name: str) -> None:
    shutil.rmtree(task.home / "local")
    times: list[float] = []
    with timed(times):
        task.checkout().abort()
    size = task.pointer.snapshot_bytes + task.pointer.delta_bytes
    print(
        f"{name}: restore of {task.stored:,} keys, {size / 1e6:.0f} MB in "
        f"{len(task.pointer.objects())} objects: {times[0] / 1000:.2f} s"
    )


def endurance(home: Path, batches: int) -> None:
    """Small batches, thousands of times: do runs pile up, do reads or commits get slower?"""
    task = Task(RocksDB(), home)
    task.load(100_000)
    runs, opened, read, written = [], list[float](), list[float](), list[float]()
    for _ in range(batches):
        pairs = task.pairs(task.random.sample(range(task.stored), 100))
        with timed(opened):
            checkout = task.checkout()
        runs.append(run_count(checkout.store._families["s"]))  # type: ignore[attr-defined]
        with timed(read):
            checkout.store.multi_get("s", [key for key, _ in pairs])
        with timed(written):
            task.commit(checkout, pairs)
    part = max(1, batches // 10)
    print(f"{batches:,} batches of 100 of 100,000 keys: at most {max(runs)} sorted runs")
    for label, times in (("checkout", opened), ("100 reads", read), ("commit", written)):
        first, last = figures(times[:part]), figures(times[-part:])
        print(f"  {label:9} ms, median and slowest: first tenth {first}, last tenth {last}")


def main() -> None:
    parser = argparse.ArgumentParser(description="What a task's state costs")
    parser.add_argument("--home", type=Path, help="where state and log go")
    parser.add_argument("--keys", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batches", type=int, default=2_000)
    parser.add_argument("--cpu", action="store_true", help="processor time instead of elapsed")
    options = parser.parse_args()
    if options.cpu:
        Task.clock = staticmethod(time.process_time)
    base = options.home or Path(tempfile.mkdtemp(prefix="kstreams-bench-"))
    load = os.getloadavg()[0]
    print(f"{'processor' if options.cpu else 'elapsed'} time, ", end="")
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load:.1f}, {base}")
    print(
        f"{'backend':12} {'stored':>9} {'changed':>7} | {'checkout ms':>17} | {'reads':>17} |commit"
    )
    try:
        for name, backend in (("memory", Memory()), ("rocksdb", RocksDB())):
            task = Task(backend, base / name)
            for keys in options.keys:
                task.load(keys)
                commits(task, name, options.rounds)
            restore(task, name)
            shutil.rmtree(task.home)
        if options.batches:
            endurance(base / "endurance", options.batches)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
