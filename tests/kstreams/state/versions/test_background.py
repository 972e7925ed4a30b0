"""Background upkeep: commits do not wait for it, publish it later, and survive its loss."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from kstreams.clock import FakeClock
from kstreams.errors import StoreError
from kstreams.state.backend.memory import Memory, MemoryStore
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.backend.task_key import TaskKey, new_attempt
from kstreams.state.backend.working import StateBackend, StoreChanges, WorkingStore
from kstreams.state.log.durable import Attempt, DurableLog
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.upkeep import Upkeep
from kstreams.state.versions.background import BackgroundUpkeep
from kstreams.state.versions.versions import TaskVersions
from kstreams_rocksdb import RocksDB
from tests.support.storage.counting_object_store import ObjectDict

_SNAPSHOTS = Upkeep(merge_count=99, max_deltas=5, floor_bytes=100_000, chunk_bytes=90)
_MERGERS = Upkeep(merge_count=3, floor_bytes=1 << 40, small_bytes=0)
_TASK = TaskKey("app", "group", 0)
_BACKENDS = pytest.mark.parametrize("backend", [Memory(), RocksDB()], ids=lambda b: b.name)


class GatedObjects(ObjectDict):
    """Blocks snapshots and mergers until the gate is open; may reject them."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.refuse = False

    def put_if_absent(self, name: str, data: bytes) -> bool:
        if not name.endswith(".delta"):
            assert self.gate.wait(20)
            if self.refuse:
                raise StoreError("no room")
        return super().put_if_absent(name, data)

    def made(self) -> list[str]:
        return [name for name in self.objects if not name.endswith(".delta")]


class Line:
    """A task with consecutive versions."""

    def __init__(self, home: Path, backend: StateBackend, upkeep: Upkeep = _SNAPSHOTS) -> None:
        self.home = home
        self.backend = backend
        self.upkeep = upkeep
        self.objects = GatedObjects()
        self.clock = FakeClock()
        self.background = BackgroundUpkeep(clock=self.clock)
        self.pointer = Pointer.empty()
        self.model: dict[bytes, bytes] = {}

    def attempt(self, pointer: Pointer, number: int) -> Pointer:
        versions = TaskVersions(
            self.backend,
            self.home / "local",
            self.objects,
            _TASK,
            ["s"],
            upkeep=self.upkeep,
            background=self.background,
        )
        with versions.checkout(pointer, Attempt(new_attempt(), number)) as checkout:
            gone = [(b"%04d" % (number - 5), b"%04d" % (number - 3))] if number % 4 == 3 else []
            return checkout.commit({"s": StoreChanges([(b"%04d" % number, b"x" * 20)], gone)}, {})

    def commit(self, count: int = 1) -> None:
        for _ in range(count):
            number = self.pointer.version
            self.pointer = self.attempt(self.pointer, number)
            self.model[b"%04d" % number] = b"x" * 20
            if number % 4 == 3:
                for gone in (number - 5, number - 4):
                    self.model.pop(b"%04d" % gone, None)

    def until_begun(self) -> None:
        while self.background.wants(_TASK):
            self.commit()

    def loses_a_version(self) -> Pointer:
        """Start upkeep from a version that is not committed, and continue without that version."""
        before, model = self.pointer, dict(self.model)
        while self.background.wants(_TASK):
            before, model = self.pointer, dict(self.model)
            self.commit()
        lost = self.pointer
        self.background.drain()
        self.pointer, self.model = before, model
        self.commit()
        return lost

    def restored(self) -> dict[bytes, bytes]:
        store = MemoryStore(["s"])
        DurableLog(self.objects, _TASK).restore(self.pointer, store)
        return dict(store.scan("s", None, None))


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Line]:
    made = Line(tmp_path, Memory())
    yield made
    made.objects.gate.set()
    made.background.drain()


@pytest.mark.long
@_BACKENDS
def test_commit_does_not_wait_for_snapshot_and_later_commit_publishes_it(
    tmp_path: Path, backend: StateBackend
) -> None:
    line = Line(tmp_path, backend)
    line.until_begun()
    begun = line.pointer.version
    line.commit(10)
    assert line.objects.made() == []
    assert line.pointer.base == 0
    assert line.restored() == line.model
    line.objects.gate.set()
    line.background.drain()
    line.commit()
    assert line.pointer.base == begun
    assert len(line.pointer.snapshot) == len(line.objects.made())
    assert all(ref.version > begun for ref in line.pointer.deltas)
    assert line.restored() == line.model
    line.commit(40)
    line.background.drain()
    line.commit(2)
    assert line.pointer.base > begun
    assert line.restored() == line.model
    line.background.drain()  # of a snapshot begun by the last commit
    assert list((tmp_path / "local").rglob("*-snapshot")) == []


def test_task_has_at_most_one_snapshot_in_progress(line: Line) -> None:
    line.until_begun()
    line.commit(30)
    line.objects.gate.set()
    line.background.drain()
    versions = {name.rpartition("/")[2].partition("-")[0] for name in line.objects.made()}
    assert len(versions) == 1


def test_snapshot_of_abandoned_version_is_never_published(line: Line) -> None:
    line.objects.gate.set()
    lost = line.loses_a_version()
    assert line.pointer.version_id != lost.version_id
    line.commit()
    assert line.pointer.base == 0
    assert line.restored() == line.model


def test_background_snapshot_not_published_in_time_is_made_again(line: Line) -> None:
    line.objects.gate.set()
    line.until_begun()
    begun = line.pointer.version
    line.background.drain()
    line.clock.advance(timedelta(minutes=31))
    line.commit()
    assert line.pointer.base == 0
    line.until_begun()
    line.background.drain()
    line.commit()
    assert line.pointer.base > begun
    assert line.restored() == line.model


def test_failed_snapshot_is_made_again(line: Line, caplog: pytest.LogCaptureFixture) -> None:
    line.objects.refuse = True
    line.objects.gate.set()
    line.until_begun()
    line.background.drain()
    assert "no snapshot this time: no room" in caplog.text
    line.objects.refuse = False
    line.commit()
    line.until_begun()
    line.background.drain()
    line.commit()
    assert line.pointer.base > 0
    assert line.restored() == line.model


class Plain:
    """A backend without `copy`."""

    name = "plain"
    directory: str | None = None
    log: ObjectStoreSettings | None = None

    def open(self, directory: Path, stores: Sequence[str]) -> WorkingStore:
        return Memory().open(directory, stores)

    def branch(self, source: Path, target: Path) -> bool:
        return Memory().branch(source, target)

    def remove(self, directory: Path) -> None:
        Memory().remove(directory)


def test_backend_without_copy_makes_snapshots_within_commits(tmp_path: Path) -> None:
    line = Line(tmp_path, Plain())
    line.objects.gate.set()
    line.commit(12)
    assert line.pointer.base > 0
    assert line.background.wants(_TASK)
    assert line.restored() == line.model


@pytest.fixture
def merging(tmp_path: Path) -> Iterator[Line]:
    made = Line(tmp_path, Memory(), _MERGERS)
    yield made
    made.objects.gate.set()
    made.background.drain()


def test_deltas_are_merged_in_background_and_later_commit_publishes_result(merging: Line) -> None:
    merging.until_begun()
    parts = merging.pointer.deltas
    merging.commit(2)
    assert merging.objects.made() == []
    assert {ref.level for ref in merging.pointer.deltas} == {0}
    merging.objects.gate.set()
    merging.background.drain()
    merging.commit()
    assert [ref.level for ref in merging.pointer.deltas] == [1, 0, 0, 0]
    assert merging.pointer.deltas[0].version == parts[-1].version
    assert merging.restored() == merging.model


def test_merged_deltas_are_merged_again(merging: Line) -> None:
    merging.objects.gate.set()
    for _ in range(60):
        merging.commit()
        merging.background.drain()
        assert merging.restored() == merging.model
    assert max(ref.level for ref in merging.pointer.deltas) == 3
    assert len(merging.pointer.deltas) <= 12


def test_merged_delta_of_abandoned_version_is_never_published(merging: Line) -> None:
    merging.objects.gate.set()
    lost = merging.loses_a_version()
    (run,) = merging.objects.made()
    for _ in range(9):
        merging.commit()
        merging.background.drain()
        assert lost.deltas[-1] not in merging.pointer.deltas
        assert run not in [ref.name for ref in merging.pointer.deltas]
        assert merging.restored() == merging.model
    assert merging.pointer.deltas[0].level > 0


def test_damage_found_by_background_merge_is_repaired_by_snapshot(
    merging: Line, caplog: pytest.LogCaptureFixture
) -> None:
    merging.until_begun()
    merging.commit(2)
    merging.objects.refuse = True
    merging.objects.gate.set()
    merging.background.drain()
    assert "no merger this time: no room" in caplog.text
    merging.objects.refuse = False
    del merging.objects.objects[merging.pointer.deltas[1].name]
    while not merging.pointer.base:
        merging.commit()
        merging.background.drain()
    assert "mending the log with a snapshot" in caplog.text
    assert merging.restored() == merging.model


def test_small_state_gets_snapshot_instead_of_second_merge(tmp_path: Path) -> None:
    line = Line(tmp_path, Memory(), Upkeep(merge_count=3))
    line.objects.gate.set()
    while not line.pointer.base:
        line.commit()
        line.background.drain()
        assert {ref.level for ref in line.pointer.deltas} <= {0, 1}
        assert len(line.pointer.deltas) < 10
    assert line.restored() == line.model
