"""Versions that stay open between batches: kept data, and isolation of uncommitted data."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams.clock import FakeClock
from kstreams.errors import StoreError
from kstreams.state.backend.task_key import TaskKey, new_attempt
from kstreams.state.backend.working import StateBackend, StoreChanges
from kstreams.state.log.durable import Attempt, DurableLog
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.snapshot import write_snapshot
from kstreams.state.versions.background import BackgroundUpkeep
from kstreams.state.versions.checkout import Checkout
from kstreams.state.versions.open_versions import OpenVersions
from kstreams.state.versions.versions import TaskVersions
from kstreams_rocksdb import RocksDB
from kstreams_rocksdb.store import RocksStore
from tests.kstreams.state.test_versions_model import CHANGES, Staying, VersionsMachine
from tests.support.storage.counting_object_store import ObjectDict

_STEP = st.tuples(st.integers(0, 19), st.integers(0, 9), CHANGES)
_HISTORY = st.lists(_STEP, min_size=12, max_size=40)


def _run_batches(
    history: list[tuple[int, int, dict[str, StoreChanges]]], machine: VersionsMachine
) -> None:
    """Run batches of two processes with occasional failures."""
    for action, pick, changes in history:
        if action < 11:
            machine.attempt(0, 2 if pick == 9 else 1)
            machine.commit(len(machine.open) - 1, changes, pick)
            machine.choose(pick)
        elif action < 13 and len(machine.open) < 3:
            machine.attempt(pick % 3, 1 + pick % 2)
        elif action == 13 and machine.open:
            machine.commit(pick, changes, pick)
        elif action == 14 and machine.open:
            machine.abort(pick)
        elif action == 15 and machine.offered:
            machine.choose(pick)
        else:
            _go_wrong(action, pick, machine)
        machine.pointers_stay_readable()


def _go_wrong(action: int, pick: int, machine: VersionsMachine) -> None:
    if action == 16:
        machine.kill(pick % 3)
    elif action == 17 and pick == 0:
        machine.restart()
    elif action == 17 and pick == 1 and not machine.open:
        machine.lose_local_disk()
    elif action == 18:
        machine.snapshots_are_done()
    elif action == 19:
        while machine.open:  # open attempts may use objects without a retained pointer
            machine.abort(0)
        machine.offered.clear()
        machine.collect(2, 3)


@pytest.mark.long
@pytest.mark.parametrize("in_background", [False, True], ids=["in commits", "in_background"])
@pytest.mark.parametrize(
    ("backend", "examples", "resident_bytes"),
    [
        pytest.param(Staying(), 50, 0, id="staying"),
        pytest.param(Staying(), 50, 8_000, id="resident"),
        pytest.param(RocksDB(open_bytes=20_000), 30, 0, id="rocksdb", marks=pytest.mark.slow),
        pytest.param(
            RocksDB(open_bytes=20_000), 30, 8_000, id="resident-rocksdb", marks=pytest.mark.slow
        ),
    ],
)
def test_each_pointer_restores_its_own_state(
    backend: StateBackend, examples: int, resident_bytes: int, in_background: bool
) -> None:
    @settings(max_examples=examples, deadline=None, derandomize=True)
    @given(history=_HISTORY)
    def check(history: list[tuple[int, int, dict[str, StoreChanges]]]) -> None:
        members = {
            "backend": backend,
            "new_log": staticmethod(ObjectDict),
            "in_background": in_background,
            "resident_bytes": resident_bytes,
        }
        machine: VersionsMachine = type("Machine", (VersionsMachine,), members)()
        machine.begin()
        try:
            _run_batches(history, machine)
        finally:
            machine.teardown()

    check()


class Worker:
    """A process on a shared directory."""

    def __init__(
        self, home: Path, log: ObjectDict, open_bytes: int = 100_000, resident_bytes: int = 0
    ) -> None:
        self.open = OpenVersions(clock=FakeClock(), most_open=1, resident_bytes=resident_bytes)
        self.home = home
        self.log = log
        self.backend = RocksDB(open_bytes=open_bytes)
        self.background = BackgroundUpkeep(clock=FakeClock())

    def checkout(self, pointer: Pointer, partition: int = 0) -> Checkout:
        task = TaskKey("app", "g", partition)
        versions = TaskVersions(
            self.backend,
            self.home,
            self.log,
            task,
            ["s"],
            background=self.background,
            open_versions=self.open,
        )
        return versions.checkout(pointer, Attempt(new_attempt(), 1))

    def commit(self, pointer: Pointer, pairs: int = 1, value: bytes = b"v") -> Pointer:
        with self.checkout(pointer) as checkout:
            keys = [b"%06d" % key for key in range(pairs)]
            return checkout.commit({"s": StoreChanges([(key, value) for key in keys])}, {})

    def read(self, pointer: Pointer) -> dict[bytes, bytes]:
        with self.checkout(pointer) as checkout:
            return dict(checkout.store.scan("s", None, None))

    @property
    def open_count(self) -> int:
        return len(self.open._kept)

    def files(self) -> dict[str, int]:
        found = [path for path in self.home.rglob("attempts/*/*") if not path.is_symlink()]
        return {str(path): path.stat().st_mtime_ns for path in found}


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    worker = Worker(tmp_path, ObjectDict())
    yield worker
    worker.open.close()


def test_small_batches_write_no_database_file(worker: Worker) -> None:
    second = worker.commit(worker.commit(Pointer.empty()))
    before = worker.files()
    later = second
    for number in range(5):
        later = worker.commit(later, value=b"%d" % number)
    assert worker.files() == before
    assert worker.read(later) == {b"000000": b"4"}


def test_task_without_stores_opens_no_database_and_keeps_its_position(worker: Worker) -> None:
    task = TaskKey("app", "g", 0)
    versions = TaskVersions(
        worker.backend, worker.home, worker.log, task, [], open_versions=worker.open
    )
    pointer = Pointer.empty()
    for number in range(3):
        with versions.checkout(pointer, Attempt(new_attempt(), number)) as checkout:
            assert checkout.warm
            assert worker.files() == {}
            pointer = checkout.commit({}, {"number": number})
    assert (pointer.version, pointer.meta) == (0, {"number": 2})
    assert not worker.log.objects


def test_version_of_large_batch_is_written_to_disk_and_closed(worker: Worker) -> None:
    small = worker.commit(worker.commit(Pointer.empty()), 10)
    assert worker.open_count == 1
    large = worker.commit(small, 1000)
    assert worker.open_count == 0
    with worker.checkout(large) as checkout:
        assert checkout.warm
        assert len(checkout.store.multi_get("s", [b"%06d" % key for key in range(1000)])) == 1000


def test_open_version_is_written_to_disk_when_it_grows_too_large(worker: Worker) -> None:
    pointer, sizes = worker.commit(Pointer.empty()), []
    for number in range(40):
        with worker.checkout(pointer) as checkout:
            pairs = [(b"%06d" % (number * 30 + n), b"v" * 40) for n in range(30)]
            pointer = checkout.commit({"s": StoreChanges(pairs)}, {})
        sizes += [kept.version.size_bytes for kept in worker.open._kept.values()]
    assert max(sizes) <= 100_000
    assert len(sizes) < 40
    assert len(worker.read(pointer)) == 30 * 40


def test_scan_of_ended_attempt_raises_store_error(worker: Worker) -> None:
    pointer = worker.commit(worker.commit(Pointer.empty()), 5)
    with worker.checkout(pointer) as checkout:
        scan = checkout.store.scan("s", None, None)
        next(scan)
    assert worker.open_count == 1
    with pytest.raises(StoreError, match="was closed"):
        next(scan)
    with pytest.raises(StoreError, match="has ended"):
        checkout.store.get("s", b"000000")


def test_other_process_reads_only_deltas_after_local_base_from_log(worker: Worker) -> None:
    base = worker.commit(Pointer.empty(), 500)
    last = worker.commit(worker.commit(base, 2), 3, b"last")
    for ref in base.objects():
        del worker.log.objects[ref.name]
    other = Worker(worker.home, worker.log)
    expected = {b"%06d" % key: b"last" if key < 3 else b"v" for key in range(500)}
    assert other.read(last) == expected
    assert worker.read(last) == expected
    other.open.close()


def test_local_base_older_than_snapshot_is_not_used(worker: Worker) -> None:
    last = worker.commit(worker.commit(Pointer.empty(), 5), 2, b"last")
    log = DurableLog(worker.log, TaskKey("app", "g", 0))
    with worker.checkout(last) as checkout:
        whole = write_snapshot(log, last, checkout.store, Attempt(new_attempt(), 0))
    other = Worker(worker.home, worker.log)
    assert other.read(whole) == {b"%06d" % key: b"last" if key < 2 else b"v" for key in range(5)}
    other.open.close()


def test_local_base_whose_read_failed_is_opened_again(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    pointer = worker.commit(worker.commit(Pointer.empty()))

    def broken(*_: object) -> None:
        raise StoreError("the disk is broken")

    checkout = worker.checkout(pointer)
    with monkeypatch.context() as patch:
        patch.setattr(RocksStore, "multi_get", broken)
        with pytest.raises(StoreError, match="broken"):
            checkout.store.multi_get("s", [b"other"])
    checkout.abort()
    assert worker.open_count == 0
    assert worker.read(pointer) == {b"000000": b"v"}


def test_number_of_open_versions_is_limited(worker: Worker) -> None:
    worker.commit(worker.commit(Pointer.empty()))
    with worker.checkout(Pointer.empty(), 1) as checkout:
        other = checkout.commit({"s": StoreChanges([(b"k", b"v")])}, {})
    worker.checkout(other, 1).abort()
    assert len(worker.open._kept) == 1
    worker.open._clock.advance(timedelta(hours=1))  # type: ignore[attr-defined]  # a fake
    worker.checkout(other, 1).abort()
    assert [*worker.open._kept] == [worker.home / TaskKey("app", "g", 1).local]


class _FailingLog(ObjectDict):
    """A log that rejects writes while `fails` is set."""

    fails = False

    def put_if_absent(self, name: str, data: bytes) -> bool:
        if self.fails:
            raise StoreError("the log is not available")
        return super().put_if_absent(name, data)


@pytest.mark.parametrize("resident_bytes", [0, 20_000], ids=["database", "resident"])
def test_failed_upload_leaves_open_version_unchanged_while_deltas_are_merged(
    tmp_path: Path, resident_bytes: int
) -> None:
    log = _FailingLog()
    worker = Worker(tmp_path, log, resident_bytes=resident_bytes)
    pointer = worker.commit(Pointer.empty(), 2)
    for number in range(20):
        log.fails = True
        with pytest.raises(StoreError, match="not available"):
            worker.commit(pointer, value=b"lost")
        log.fails = False
        assert worker.read(pointer)[b"000001"] == b"v"
        assert worker.read(pointer)[b"000000"] != b"lost"
        pointer = worker.commit(pointer, value=b"%d" % number)
        worker.background.drain()
    assert worker.read(pointer) == {b"000000": b"19", b"000001": b"v"}
    worker.open.close()
