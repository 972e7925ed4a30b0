"""Cost of a task's state per micro-batch: checkout, commit, restore; and over many batches.

Keys have 12 bytes, values 100 bytes (half of them random).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.measured import Times
from devtools.servers.s3 import Bucket, S3Server
from kstreams.state import Memory, ObjectStoreSettings, StateBackend, StoreChanges
from kstreams.state.backend.task_key import TaskKey, new_attempt
from kstreams.state.log.directory import Directory
from kstreams.state.log.durable import Attempt
from kstreams.state.log.garbage import collect_garbage
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.traffic import CountedObjects
from kstreams.state.versions.background import BackgroundUpkeep
from kstreams.state.versions.checkout import Checkout
from kstreams.state.versions.versions import TaskVersions
from kstreams.testing import FakeClock
from kstreams_rocksdb import RocksDB
from kstreams_rocksdb.compaction import run_count

__all__ = ("commits", "endurance", "restores")

_LOAD_STEP = 50_000
_KEY = TaskKey("bench", "g", 0)


class StoredTask:
    """One task on one backend, with a number of stored keys."""

    def __init__(self, backend: StateBackend, home: Path, log: ObjectStoreSettings) -> None:
        self.backend, self.home, self.random = backend, home, Random(1)
        self.objects = CountedObjects(log.open())
        self.background = BackgroundUpkeep()
        self.pointer = Pointer.empty()
        self.stored = 0

    def checkout(self) -> Checkout:
        versions = TaskVersions(
            self.backend,
            self.home / "local",
            self.objects,
            _KEY,
            ["s"],
            background=self.background,
        )
        return versions.checkout(self.pointer, Attempt(new_attempt(), 0))

    def pairs(self, keys: list[int]) -> list[tuple[bytes, bytes | None]]:
        return [(b"%012d" % key, self.random.randbytes(50) * 2) for key in sorted(keys)]

    def commit(self, checkout: Checkout, pairs: list[tuple[bytes, bytes | None]]) -> None:
        self.pointer = checkout.commit({"s": StoreChanges(pairs)}, {"offsets": {"topic": {"0": 1}}})

    def load(self, keys: int) -> None:
        while self.stored < keys:
            step = range(self.stored, min(keys, self.stored + _LOAD_STEP))
            self.commit(self.checkout(), self.pairs(list(step)))
            self.stored += len(step)
        self.background.drain()

    def drawn(self, count: int) -> list[tuple[bytes, bytes | None]]:
        return self.pairs(self.random.sample(range(self.stored), count))


def commits(home: Path, smoke: bool) -> dict[str, Any]:
    """Measure batches that change some of the keys; the durable log is a local directory."""
    stored = (2_000,) if smoke else (100_000, 1_000_000)
    changed, rounds = ((1, 1_000), 2) if smoke else ((1, 1_000, 10_000, 100_000), 9)
    found: dict[str, Any] = {}
    print(f"\nmilliseconds: median, slowest, processor time; {rounds} batches")
    print(f"{'':22}{'changed':>8} | {'checkout':>26} | {'reads':>26} | {'commit':>26}")
    for backend in (Memory(), RocksDB()):
        task = StoredTask(backend, home / backend.name, Directory(str(home / backend.name / "log")))
        for keys in stored:
            task.load(keys)
            for count in changed:
                times = _batches(task, count, rounds)
                row = " | ".join(t.ms() for t in times)
                print(f"{backend.name:10}{keys:12,}{count:8,} | {row}", flush=True)
                found[f"{backend.name}, {count} of {keys}"] = {
                    label: t.figures()
                    for label, t in zip(("checkout", "reads", "commit"), times, strict=True)
                }
        shutil.rmtree(task.home)
    return found


def _batches(task: StoredTask, count: int, rounds: int) -> tuple[Times, Times, Times]:
    opened, read, written = Times(), Times(), Times()
    for _ in range(rounds):
        pairs = task.drawn(count)
        with opened:
            checkout = task.checkout()
        with read:
            checkout.store.multi_get("s", [key for key, _ in pairs])
        with written:
            task.commit(checkout, pairs)
        task.background.drain()
    return opened, read, written


def restores(home: Path, smoke: bool) -> dict[str, Any]:
    """Measure the restore on a machine without local state."""
    keys, rounds = (5_000, 1) if smoke else (1_000_000, 3)
    found: dict[str, Any] = {}
    print(f"\nrestore of {keys:,} keys; milliseconds: median, slowest, processor time")
    with _s3(home / "s3") as on_s3:
        logs: dict[str, ObjectStoreSettings] = {
            "S3 on loopback": on_s3,
            "a directory": Directory(str(home / "log")),
        }
        for label, log in logs.items():
            for backend in (Memory(), RocksDB()) if label != "S3 on loopback" else (RocksDB(),):
                task = StoredTask(backend, home / backend.name, log)
                task.load(keys)
                task.commit(task.checkout(), task.drawn(1_000))
                times = Times()
                task.objects.take()
                for _ in range(rounds):
                    shutil.rmtree(task.home / "local")
                    with times:
                        checkout = task.checkout()
                    if sum(1 for _ in checkout.store.scan("s", None, None)) != keys:
                        raise SystemExit("the restore has lost keys")
                    checkout.abort()
                traffic = task.objects.take()
                read = traffic.get_bytes // rounds
                name = f"{label}, {backend.name}"
                print(f"{name:30}{times.ms()}  {read / 1e6:,.0f} MB, {traffic.gets // rounds} GET")
                found[name] = {**times.figures(keys), "bytes": read}
                shutil.rmtree(task.home, ignore_errors=True)
                task.objects.delete(list(task.objects.list("")))
    return found


@contextmanager
def _s3(folder: Path) -> Iterator[ObjectStoreSettings]:
    with S3Server(folder) as server:
        yield Bucket(server.url, "bench").settings("log")


def endurance(home: Path, smoke: bool) -> dict[str, Any]:
    """Commit many small batches, to find growth of disk usage and of commit times."""
    batches, keys, every = (60, 1_000, 20) if smoke else (1_000, 100_000, 50)
    changed = min(100, keys)
    task = StoredTask(RocksDB(), home, Directory(str(home / "log")))
    task.load(keys)
    kept, clock = [task.pointer], FakeClock()
    runs: list[int] = []
    opened, read, written = Times(), Times(), Times()
    sizes: list[tuple[int, int, int]] = []
    for number in range(batches):
        pairs = task.drawn(changed)
        with opened:
            checkout = task.checkout()
        families: dict[str, Any] = getattr(checkout.store, "_families")  # noqa: B009  # private
        runs.append(run_count(families["s"]))
        with read:
            checkout.store.multi_get("s", [key for key, _ in pairs])
        with written:
            task.commit(checkout, pairs)
        kept = [*kept, task.pointer][-10:]
        if number % every == every - 1:  # as in a pipeline
            clock.advance(timedelta(hours=2))
            collect_garbage(task.objects, {_KEY: kept}, clock=clock, min_age=timedelta(hours=1))
            sizes.append(_left(task))
    names = ("checkout", "100 reads", "commit")
    part = max(1, batches // 10)
    print(f"\n{batches:,} batches of {changed} of {keys:,} keys, clean-up every {every}")
    print(f"at most {max(runs)} sorted runs; milliseconds: median, slowest, processor time")
    for label, times in zip(names, (opened, read, written), strict=True):
        first, last = _part(times, 0, part), _part(times, -part, None)
        print(f"  {label:10} first tenth {first.ms()}, last tenth {last.ms()}")
    for label, (disk, objects, size) in (("at first", sizes[0]), ("in the end", sizes[-1])):
        print(f"  {label:10} {disk / 1e6:.1f} MB local, {objects} objects of {size / 1e6:.1f} MB")
    labelled = zip(names, (opened, read, written), strict=True)
    return {
        "left": [dict(zip(("local", "objects", "bytes"), left, strict=True)) for left in sizes],
        **{label: times.figures() for label, times in labelled},
    }


def _part(times: Times, start: int, stop: int | None) -> Times:
    return Times(times.wall[start:stop], times.cpu[start:stop])


def _left(task: StoredTask) -> tuple[int, int, int]:
    """Return bytes of local files (shared files count once), and number and bytes of objects."""
    stats = [path.lstat() for path in (task.home / "local").rglob("*")]
    local = {stat.st_ino: stat.st_blocks * 512 for stat in stats}
    names = list(task.objects.list(""))
    sizes = [(task.home / "log" / name).stat().st_size for name in names]
    return sum(local.values()), len(names), sum(sizes)
