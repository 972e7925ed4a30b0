"""Small states that stay in memory, without a database."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from kstreams.clock import FakeClock
from kstreams.state.backend.working import StoreChanges
from kstreams.state.log.pointer import Pointer
from kstreams.state.versions.open_versions import OpenVersions
from tests.kstreams.state.versions.test_open_versions import Worker
from tests.support.storage.counting_object_store import ObjectDict

_RESIDENT_BYTES = 20_000


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    worker = Worker(tmp_path, ObjectDict(), resident_bytes=_RESIDENT_BYTES)
    yield worker
    worker.open.close()


def _restarted(worker: Worker) -> Worker:
    """Return a new process on the same machine."""
    worker.open.close()
    return Worker(worker.home, worker.log, resident_bytes=_RESIDENT_BYTES)


def _locks(worker: Worker) -> list[Path]:
    return list(worker.home.rglob("locks/*"))


def test_small_state_writes_no_file_and_takes_no_lock(worker: Worker) -> None:
    pointer = Pointer.empty()
    for number in range(20):
        pointer = worker.commit(pointer, 5, b"%d" % number)
    assert worker.files() == {}
    assert _locks(worker) == []
    assert worker.read(pointer) == {b"%06d" % key: b"19" for key in range(5)}


def test_retry_of_small_state_starts_from_the_previous_version(worker: Worker) -> None:
    first = worker.commit(Pointer.empty(), 2, b"first")
    lost = worker.commit(first, 3, b"lost")
    assert worker.read(first) == {b"000000": b"first", b"000001": b"first"}
    assert worker.read(lost) == {b"%06d" % key: b"lost" for key in range(3)}


def test_range_deletion_in_small_state_hides_the_keys(worker: Worker) -> None:
    pointer = worker.commit(Pointer.empty(), 10)
    with worker.checkout(pointer) as checkout:
        changes = StoreChanges([(b"000003", b"new")], [(b"000002", b"000008")])
        pointer = checkout.commit({"s": changes}, {})
    assert sorted(worker.read(pointer)) == [b"000000", b"000001", b"000003", b"000008", b"000009"]


def test_state_that_outgrows_memory_moves_to_a_database(worker: Worker) -> None:
    small = worker.commit(Pointer.empty(), 10)
    large = worker.commit(small, 1000)
    assert worker.files()
    with worker.checkout(large) as checkout:
        assert checkout.warm
    assert worker.read(large) == {b"%06d" % key: b"v" for key in range(1000)}
    assert [kept.database for kept in worker.open._kept.values()] == [True]


def test_first_batch_that_exceeds_memory_is_written_to_a_database(worker: Worker) -> None:
    large = worker.commit(Pointer.empty(), 1000)
    assert worker.files()
    assert len(worker.read(large)) == 1000


def test_aborted_attempt_of_small_state_keeps_it_in_memory(worker: Worker) -> None:
    pointer = worker.commit(Pointer.empty(), 3)
    worker.checkout(pointer).abort()
    with worker.checkout(pointer) as checkout:
        assert checkout.warm
    assert worker.files() == {}


def test_small_state_is_restored_from_the_log_by_another_process(worker: Worker) -> None:
    pointer = worker.commit(worker.commit(Pointer.empty(), 5), 2, b"last")
    other = _restarted(worker)
    with other.checkout(pointer) as checkout:
        assert not checkout.warm
    assert other.read(pointer) == {b"%06d" % key: b"last" if key < 2 else b"v" for key in range(5)}
    assert other.files() == {}
    other.open.close()


def test_small_state_is_written_to_a_database_if_memory_has_no_room(worker: Worker) -> None:
    worker.open = OpenVersions(
        clock=FakeClock(), most_bytes=_RESIDENT_BYTES, resident_bytes=_RESIDENT_BYTES
    )
    first = worker.commit(Pointer.empty(), 5)
    with worker.checkout(Pointer.empty(), 1) as checkout:
        other = checkout.commit({"s": StoreChanges([(b"k", b"v")])}, {})
    assert len(worker.open._kept) == 1
    assert {Path(name).parts[-4] for name in worker.files()} == {"1"}
    worker.open.close()
    for _ in range(2):
        with worker.checkout(other, 1) as checkout:
            assert checkout.warm
            assert dict(checkout.store.scan("s", None, None)) == {b"k": b"v"}
    assert [kept.database for kept in worker.open._kept.values()] == [False]
    assert len(worker.read(first)) == 5


def test_local_version_replaces_damaged_log_of_small_state(worker: Worker) -> None:
    worker.open = OpenVersions(clock=FakeClock(), most_open=0, most_bytes=0)
    pointer = worker.commit(worker.commit(Pointer.empty(), 5), 2, b"last")
    for ref in pointer.objects():
        del worker.log.objects[ref.name]
    other = _restarted(worker)
    assert other.read(pointer) == {b"%06d" % key: b"last" if key < 2 else b"v" for key in range(5)}
    other.open.close()


def test_snapshot_of_small_state_leaves_it_in_memory(worker: Worker) -> None:
    pointer = Pointer.empty()
    for number in range(200):
        pointer = worker.commit(pointer, 3, b"%d" % number)
        worker.background.drain()
        assert len(worker.open._kept) == 1
    assert pointer.snapshot
    assert len(pointer.deltas) < 64
    assert worker.files() == {}
    other = _restarted(worker)
    assert other.read(pointer) == {b"%06d" % key: b"199" for key in range(3)}
    other.open.close()


def test_idle_small_state_is_removed_from_memory_for_newer_state(worker: Worker) -> None:
    worker.open = OpenVersions(
        clock=FakeClock(), most_bytes=_RESIDENT_BYTES, resident_bytes=_RESIDENT_BYTES
    )
    worker.commit(Pointer.empty(), 5)
    worker.open._clock.advance(timedelta(hours=1))  # type: ignore[attr-defined]  # a fake
    with worker.checkout(Pointer.empty(), 1) as checkout:
        checkout.commit({"s": StoreChanges([(b"k", b"v")])}, {})
    assert worker.files() == {}
    assert [home.name for home in worker.open._kept] == ["1"]


def test_overwritten_keys_count_once_towards_memory_limit(worker: Worker) -> None:
    pointer = Pointer.empty()
    for number in range(200):
        pointer = worker.commit(pointer, 10, b"%03d" % number)
    assert worker.files() == {}
    assert max(kept.size_bytes for kept in worker.open._kept.values()) <= _RESIDENT_BYTES
