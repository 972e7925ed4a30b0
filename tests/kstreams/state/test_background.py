"""Snapshots beside the batches: never waited for, published later, lost without harm."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from kstreams.clock import FakeClock
from kstreams.errors import StoreError
from kstreams.state.background import BackgroundSnapshots
from kstreams.state.durable import Attempt, DurableLog
from kstreams.state.memory import Memory, MemoryStore
from kstreams.state.objects import ObjectStoreSettings
from kstreams.state.pointer import Pointer
from kstreams.state.task_key import TaskKey, new_attempt
from kstreams.state.upkeep import Upkeep
from kstreams.state.versions import TaskVersions
from kstreams.state.working import StateBackend
from kstreams_rocksdb import RocksDB
from tests.kstreams.state.object_dict import ObjectDict

_UPKEEP = Upkeep(merge_count=4, max_deltas=5, floor_bytes=100_000, small_bytes=0, chunk_bytes=90)
_TASK = TaskKey("app", "group", 0)
_BACKENDS = pytest.mark.parametrize("backend", [Memory(), RocksDB()], ids=lambda b: b.name)


class GatedObjects(ObjectDict):
    """Lets chunks of snapshots in only when the gate is open; may refuse them."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.refuse = False

    def put_if_absent(self, name: str, data: bytes) -> bool:
        if name.endswith(".chunk"):
            assert self.gate.wait(20)
            if self.refuse:
                raise StoreError("no room")
        return super().put_if_absent(name, data)

    def chunks(self) -> list[str]:
        return [name for name in self.objects if name.endswith(".chunk")]


class Line:
    """A task whose versions follow one another."""

    def __init__(self, home: Path, backend: StateBackend) -> None:
        self.home = home
        self.backend = backend
        self.objects = GatedObjects()
        self.clock = FakeClock()
        self.beside = BackgroundSnapshots(clock=self.clock)
        self.pointer = Pointer.empty()
        self.model: dict[bytes, bytes] = {}

    def attempt(self, pointer: Pointer, number: int) -> Pointer:
        versions = TaskVersions(
            self.backend,
            self.home / "local",
            self.objects,
            _TASK,
            ["s"],
            upkeep=_UPKEEP,
            background=self.beside,
        )
        with versions.checkout(pointer, Attempt(new_attempt(), number)) as checkout:
            return checkout.commit({"s": [(b"%04d" % number, b"x" * 20)]}, {})

    def commit(self, count: int = 1) -> None:
        for _ in range(count):
            number = len(self.model)
            self.pointer = self.attempt(self.pointer, number)
            self.model[b"%04d" % number] = b"x" * 20

    def until_begun(self) -> None:
        while self.beside.wants(_TASK):
            self.commit()

    def restored(self) -> dict[bytes, bytes]:
        store = MemoryStore(["s"])
        DurableLog(self.objects, _TASK).restore(self.pointer, store)
        return dict(store.scan("s", None, None))


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Line]:
    made = Line(tmp_path, Memory())
    yield made
    made.objects.gate.set()
    made.beside.drain()


@_BACKENDS
def test_no_commit_waits_and_a_later_one_publishes(tmp_path: Path, backend: StateBackend) -> None:
    line = Line(tmp_path, backend)
    line.until_begun()
    begun = line.pointer.version
    line.commit(10)
    assert line.objects.chunks() == []
    assert line.pointer.base == 0
    assert line.restored() == line.model
    line.objects.gate.set()
    line.beside.drain()
    line.commit()
    assert line.pointer.base == begun
    assert len(line.pointer.snapshot) == len(line.objects.chunks())
    assert all(ref.version > begun for ref in line.pointer.deltas)
    assert line.restored() == line.model
    line.commit(40)
    line.beside.drain()
    line.commit(2)
    assert line.pointer.base > begun
    assert line.restored() == line.model
    line.beside.drain()  # of a snapshot that the last commit has begun
    assert list((tmp_path / "local").rglob("*-snapshot")) == []


def test_a_task_has_one_snapshot_under_way(line: Line) -> None:
    line.until_begun()
    line.commit(30)
    line.objects.gate.set()
    line.beside.drain()
    versions = {name.rpartition("/")[2].partition("-")[0] for name in line.objects.chunks()}
    assert len(versions) == 1


def test_a_snapshot_of_a_line_that_lost_is_never_published(line: Line) -> None:
    line.objects.gate.set()
    before = line.pointer
    while line.beside.wants(_TASK):
        before = line.pointer
        line.commit()
    lost = line.pointer
    line.beside.drain()
    del line.model[max(line.model)]
    line.pointer = before
    line.commit()
    assert line.pointer.lineage != lost.lineage
    line.commit()
    assert line.pointer.base == 0
    assert line.restored() == line.model


def test_one_that_has_waited_too_long_is_made_anew(line: Line) -> None:
    line.objects.gate.set()
    line.until_begun()
    begun = line.pointer.version
    line.beside.drain()
    line.clock.advance(timedelta(minutes=31))
    line.commit()
    assert line.pointer.base == 0
    line.until_begun()
    line.beside.drain()
    line.commit()
    assert line.pointer.base > begun
    assert line.restored() == line.model


def test_one_that_fails_is_made_anew(line: Line, caplog: pytest.LogCaptureFixture) -> None:
    line.objects.refuse = True
    line.objects.gate.set()
    line.until_begun()
    line.beside.drain()
    assert "no snapshot this time: no room" in caplog.text
    line.objects.refuse = False
    line.commit()
    line.until_begun()
    line.beside.drain()
    line.commit()
    assert line.pointer.base > 0
    assert line.restored() == line.model


class Plain:
    """A backend without `copy`."""

    name = "plain"
    directory: str | None = None
    log: ObjectStoreSettings | None = None

    def open(self, directory: Path, stores: Sequence[str]) -> MemoryStore:
        return Memory().open(directory, stores)

    def branch(self, source: Path, target: Path) -> bool:
        return Memory().branch(source, target)

    def remove(self, directory: Path) -> None:
        Memory().remove(directory)


def test_a_backend_that_cannot_copy_has_snapshots_in_its_commits(tmp_path: Path) -> None:
    line = Line(tmp_path, Plain())
    line.objects.gate.set()
    line.commit(12)
    assert line.pointer.base > 0
    assert line.beside.wants(_TASK)
    assert line.restored() == line.model
