"""Versions of a task's state on a worker: isolated attempts, warm retries, removal of old ones."""

from __future__ import annotations

import errno
import gc
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from kstreams.errors import StoreError, StoreOpenError
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.task_key import TaskKey, new_attempt
from kstreams.state.backend.working import StateBackend, StoreChanges
from kstreams.state.log.durable import Attempt
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.upkeep import Upkeep
from kstreams.state.versions.background import BackgroundUpkeep
from kstreams.state.versions.versions import TaskVersions
from kstreams_rocksdb import RocksDB
from tests.support.storage.counting_object_store import ObjectDict

_OWNED = ("attempts", "locks")
_Change = tuple[bytes, "bytes | None"]


class _Worker:
    def __init__(self, backend: StateBackend, home: Path, log: ObjectDict | None = None) -> None:
        self.log = log or ObjectDict()
        self.home = home
        self.backend = backend

    def versions(self, stores: Sequence[str] = ("s",)) -> TaskVersions:
        return TaskVersions(self.backend, self.home, self.log, TaskKey("app", "g", 0), stores)

    def commit(self, pointer: Pointer, *pairs: _Change) -> Pointer:
        with self.versions().checkout(pointer, Attempt(new_attempt(), 1)) as checkout:
            return checkout.commit({"s": StoreChanges(pairs)}, {})

    def is_warm(self, pointer: Pointer) -> bool:
        with self.versions().checkout(pointer, Attempt(new_attempt(), 1)) as checkout:
            return checkout.warm

    def read(self, pointer: Pointer) -> list[tuple[bytes, bytes]]:
        with self.versions().checkout(pointer, Attempt(new_attempt(), 1)) as checkout:
            return list(checkout.store.scan("s", None, None))

    def left_over(self) -> list[str]:
        return sorted(p.name for p in self.home.rglob("*/*") if p.parent.name in _OWNED)


@pytest.fixture(params=[Memory(), RocksDB()], ids=["memory", "rocksdb"])
def worker(request: pytest.FixtureRequest, tmp_path: Path) -> _Worker:
    return _Worker(request.param, tmp_path)


def test_two_attempts_from_same_pointer_are_isolated(worker: _Worker) -> None:
    base = worker.commit(Pointer.empty(), (b"k", b"base"))
    first = worker.versions().checkout(base, Attempt("first", 2))
    second = worker.versions().checkout(base, Attempt("second", 2))
    other = second.commit({"s": StoreChanges([(b"k", b"second"), (b"m", b"2")])}, {})
    one = first.commit({"s": StoreChanges([(b"k", b"first")])}, {})
    assert one.version_id != other.version_id
    assert worker.read(one) == [(b"k", b"first")]
    assert worker.read(other) == [(b"k", b"second"), (b"m", b"2")]
    assert worker.read(base) == [(b"k", b"base")]


def test_equal_changes_of_two_attempts_make_two_versions(worker: _Worker) -> None:
    pointers = [worker.commit(Pointer.empty(), (b"k", b"v")) for _ in range(2)]
    assert pointers[0].version_id != pointers[1].version_id


def test_retry_after_aborted_attempt_uses_local_version(worker: _Worker) -> None:
    base = worker.commit(Pointer.empty(), (b"k", b"1"))
    for _ in range(3):
        checkout = worker.versions().checkout(base, Attempt(new_attempt(), 2))
        assert checkout.warm
        checkout.abort()
    assert worker.read(base) == [(b"k", b"1")]


def test_batch_without_changes_keeps_version_id_and_local_copy(worker: _Worker) -> None:
    base = worker.commit(Pointer.empty(), (b"k", b"1"))
    for number in range(3):
        with worker.versions().checkout(base, Attempt(new_attempt(), 2)) as checkout:
            assert checkout.warm
            after = checkout.commit({"s": StoreChanges([])}, {"n": number})
        assert (after.version_id, after.version, after.meta) == (base.version_id, 1, {"n": number})


def test_restored_version_is_kept_on_disk_for_retry(worker: _Worker, tmp_path: Path) -> None:
    base = worker.commit(Pointer.empty(), (b"k", b"1"))
    shutil.rmtree(worker.home)
    assert [worker.is_warm(base) for _ in range(2)] == [False, True]


def test_last_two_versions_are_kept_and_older_ones_removed(tmp_path: Path) -> None:
    worker = _Worker(RocksDB(), tmp_path)
    pointers = [Pointer.empty()]
    for number in range(6):
        pointers.append(worker.commit(pointers[-1], (b"k", b"%d" % number)))
    assert len(worker.left_over()) == 3
    assert worker.is_warm(pointers[-1])
    assert worker.is_warm(pointers[-2])
    assert not worker.is_warm(pointers[2])


def test_files_of_dead_attempt_are_removed(worker: _Worker) -> None:
    base = worker.commit(Pointer.empty(), (b"k", b"1"))
    checkout = worker.versions().checkout(base, Attempt("dead", 2))
    checkout.store.close()
    assert "dead" in worker.left_over()
    worker.read(base)
    assert "dead" in worker.left_over(), "its process lives"
    checkout._resources.directory.release()  # like the operating system when the process ends
    worker.read(base)
    assert "dead" not in worker.left_over()


@pytest.mark.long
def test_files_of_unreferenced_attempt_are_removed(worker: _Worker) -> None:
    base = worker.commit(Pointer.empty(), (b"k", b"1"))
    checkout = worker.versions().checkout(base, Attempt("forgotten", 2))
    checkout.store.close()
    del checkout
    gc.collect()  # no explicit end: the lock is released with its attempt
    worker.read(base)
    assert "forgotten" not in worker.left_over()


def test_failed_commit_can_be_retried(worker: _Worker) -> None:
    base = worker.commit(Pointer.empty(), (b"k", b"1"))

    class Full(ObjectDict):
        def put_if_absent(self, name: str, data: bytes) -> bool:
            raise StoreError("the storage is full")

    full = _Worker(worker.backend, worker.home, Full())
    full.log.objects.update(worker.log.objects)
    with pytest.raises(StoreError, match="is full"):
        full.commit(base, (b"k", b"2"))
    assert worker.read(base) == [(b"k", b"1")]
    assert worker.read(worker.commit(base, (b"k", b"3"))) == [(b"k", b"3")]


def test_version_that_cannot_be_renamed_leaves_no_files(
    worker: _Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = worker.commit(Pointer.empty(), (b"k", b"1"))
    before = worker.left_over()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    snapshots = BackgroundUpkeep()
    versions = TaskVersions(
        worker.backend,
        worker.home,
        worker.log,
        TaskKey("app", "g", 0),
        ["s"],
        upkeep=Upkeep(max_deltas=1),
        background=snapshots,
    )
    checkout = versions.checkout(base, Attempt(new_attempt(), 2))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "symlink_to", full)
        with pytest.raises(StoreError, match="cannot link version 2") as caught:
            checkout.commit({"s": StoreChanges([(b"k", b"2")])}, {})
    assert "space" in caught.value.hint
    assert set(worker.left_over()) <= set(before)
    assert snapshots.wants(TaskKey("app", "g", 0))
    assert worker.read(base) == [(b"k", b"1")]


def test_files_of_attempt_that_cannot_be_removed_are_removed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = _Worker(RocksDB(), tmp_path)
    checkout = worker.versions().checkout(Pointer.empty(), Attempt("stuck", 1))
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", _refuse)
        with pytest.raises(StoreError, match="cannot remove"):
            checkout.abort()
    assert "stuck" in worker.left_over()
    worker.read(Pointer.empty())
    assert worker.left_over() == []


def _refuse(path: object, *_: object, **__: object) -> None:
    raise OSError(errno.EBUSY, f"Device or resource busy: {path}")


def test_unsorted_changes_are_rejected_and_commit_can_be_retried(worker: _Worker) -> None:
    with pytest.raises(ValueError, match="must be distinct and sorted"):
        worker.commit(Pointer.empty(), (b"b", b"1"), (b"a", b"1"))
    assert worker.left_over() == []


def test_commit_succeeds_after_lost_reply_of_storage(worker: _Worker) -> None:
    class Deaf(ObjectDict):
        def put_if_absent(self, name: str, data: bytes) -> bool:
            super().put_if_absent(name, data)
            return super().put_if_absent(name, bytes(bytearray(data)))

    deaf = _Worker(worker.backend, worker.home, Deaf())
    assert deaf.read(deaf.commit(Pointer.empty(), (b"k", b"1"))) == [(b"k", b"1")]


def test_ended_attempt_rejects_commit(worker: _Worker) -> None:
    checkout = worker.versions().checkout(Pointer.empty(), Attempt("one", 1))
    checkout.commit({"s": StoreChanges([(b"k", b"1")])}, {})
    checkout.abort()
    with pytest.raises(StoreError, match="has ended"):
        checkout.commit({"s": StoreChanges([(b"k", b"2")])}, {})


def test_attempt_name_cannot_be_used_twice(worker: _Worker) -> None:
    with worker.versions().checkout(Pointer.empty(), Attempt("same", 1)) as checkout:
        checkout.commit({"s": StoreChanges([(b"k", b"1")])}, {})
        with pytest.raises(StoreError, match="already begun"):
            worker.versions().checkout(Pointer.empty(), Attempt("same", 1))


def test_contents_of_dropped_store_are_kept_in_local_and_restored_versions(worker: _Worker) -> None:
    with worker.versions(("a", "b")).checkout(Pointer.empty(), Attempt("1", 1)) as checkout:
        base = checkout.commit(
            {"a": StoreChanges([(b"k", b"1")]), "b": StoreChanges([(b"k", b"2")])}, {}
        )
    with worker.versions(("b",)).checkout(base, Attempt("2", 2)) as checkout:
        after = checkout.commit({"b": StoreChanges([(b"k", b"3")])}, {})
    for _ in range(2):
        with worker.versions(("a", "c")).checkout(after, Attempt(new_attempt(), 3)) as checkout:
            assert [checkout.store.get(name, b"k") for name in "abc"] == [b"1", b"3", None]
        shutil.rmtree(worker.home)


def test_incomplete_local_state_is_restored(tmp_path: Path) -> None:
    worker = _Worker(RocksDB(), tmp_path)
    base = worker.commit(Pointer.empty(), (b"k", b"1"))
    for path in tmp_path.rglob("*.sst"):
        path.unlink()
    assert not worker.is_warm(base)
    assert worker.read(base) == [(b"k", b"1")]


def test_local_state_that_cannot_be_opened_is_restored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    worker = _Worker(RocksDB(), tmp_path)
    base = worker.commit(Pointer.empty(), (b"k", b"1"))
    for path in tmp_path.rglob("*.sst"):
        path.write_bytes(bytes(path.stat().st_size))
    assert worker.read(base) == [(b"k", b"1")]
    assert "restoring" in caplog.text


def test_local_directory_that_cannot_be_created_raises_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    worker = _Worker(Memory(), tmp_path / "file")
    with pytest.raises(StoreOpenError, match="cannot use") as caught:
        worker.read(Pointer.empty())
    assert "directory" in caught.value.hint


@pytest.mark.parametrize("app", ["plain", "a/b", "..", ".", "", "a b", "ü"])
def test_directories_of_apps_are_distinct_and_inside_root(app: str, tmp_path: Path) -> None:
    key = TaskKey(app, app, 0)
    parts = key.prefix.rstrip("/").split("/")
    assert len(parts) == 4
    assert not any(part == "" or part.startswith(".") for part in parts)
    assert len(key.local.parts) == 3
    assert (tmp_path / key.local).resolve().is_relative_to(tmp_path.resolve())
