"""Snapshots and merges keep the durable log small at bounded cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kstreams.errors import StoreError
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.backend.working import StoreChanges
from kstreams.state.log.durable import Attempt
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.upkeep import Upkeep
from kstreams.state.versions.versions import TaskVersions
from tests.support.storage.counting_object_store import ObjectDict

_Pairs = list[tuple[bytes, "bytes | None"]]


class _Task:
    def __init__(self, home: Path, upkeep: Upkeep) -> None:
        self.log = ObjectDict()
        self.versions = TaskVersions(
            Memory(), home, self.log, TaskKey("app", "g", 0), ["s"], upkeep=upkeep
        )
        self.pointer = Pointer.empty()
        self.count = 0

    def commit(self, pairs: _Pairs) -> None:
        self.count += 1
        attempt = Attempt(f"a{self.count}", self.count)
        with self.versions.checkout(self.pointer, attempt) as checkout:
            self.pointer = checkout.commit({"s": StoreChanges(pairs)} if pairs else {}, {})

    def written(self, kind: str) -> list[str]:
        return [name for name in self.log.objects if name.endswith(kind)]


def test_batch_writes_one_object_and_reads_none(tmp_path: Path) -> None:
    task = _Task(tmp_path, Upkeep())
    for number in range(7):
        task.commit([(b"k", b"%d" % number)])
    assert task.log.calls == {"put": 7, "get": 0, "list": 0, "delete": 0}


def test_batch_without_changes_writes_no_log_object(tmp_path: Path) -> None:
    task = _Task(tmp_path, Upkeep())
    task.commit([(b"k", b"1")])
    before = task.pointer
    task.commit([])
    assert task.pointer == before
    assert task.log.calls["put"] == 1


def test_small_state_has_few_objects_after_many_batches(tmp_path: Path) -> None:
    task = _Task(tmp_path, Upkeep())
    for number in range(400):
        task.commit([(b"%d" % (number % 50), b"%d" % number)])
        assert len(task.pointer.deltas) <= 15
    assert len(task.written("chunk")) <= 400 // 64 + 1


def test_large_state_with_small_batches_is_rarely_rewritten(tmp_path: Path) -> None:
    upkeep = Upkeep(floor_bytes=20_000, small_bytes=20_000, chunk_bytes=50_000)
    task = _Task(tmp_path, upkeep)
    task.commit([(b"%08d" % n, b"%08d" % (n * 7919)) for n in range(20_000)])
    task.commit([(b"%08d" % n, b"%08d" % (n * 7919)) for n in range(20_000, 30_000)])
    first = sum(map(len, task.log.objects.values()))
    for number in range(300):
        task.commit([(b"%08d" % number, b"new%d" % number)])
        assert len(task.pointer.deltas) <= 24
    written = sum(map(len, task.log.objects.values())) - first
    deltas = sum(len(task.log.objects[name]) for name in task.written(".delta")) - first
    assert written < 3 * (deltas + first)


def test_bytes_written_for_growing_state_are_small_multiple_of_its_changes(tmp_path: Path) -> None:
    upkeep = Upkeep(floor_bytes=2000, small_bytes=2000, chunk_bytes=10_000)
    task = _Task(tmp_path, upkeep)
    for number in range(150):
        task.commit([(b"%08d" % (100 * number + n), b"%08d" % (n * number)) for n in range(100)])
    deltas = sum(len(task.log.objects[name]) for name in task.written(".delta"))
    written = sum(map(len, task.log.objects.values()))
    assert written < 5 * deltas


def test_snapshot_does_not_rewrite_unchanged_chunks(tmp_path: Path) -> None:
    upkeep = Upkeep(floor_bytes=1, small_bytes=0, snapshot_fraction=0.0, chunk_bytes=4000)
    task = _Task(tmp_path, upkeep)
    task.commit([(b"%08d" % n, b"%08d" % (n * 7919)) for n in range(5000)])
    chunks = task.pointer.snapshot
    assert len(chunks) > 10
    task.commit([(b"%08d" % 2500, b"changed"), (b"%08d" % 2501, None), (b"00002501x", b"new")])
    same = set(chunks) & set(task.pointer.snapshot)
    assert len(same) >= len(chunks) - 2


def test_failed_snapshot_does_not_fail_batch(tmp_path: Path) -> None:
    class Failing(ObjectDict):
        def put_if_absent(self, name: str, data: bytes) -> bool:
            if name.endswith(".chunk"):
                raise StoreError("the storage is busy")
            return super().put_if_absent(name, data)

    task = _Task(tmp_path, Upkeep(floor_bytes=1, small_bytes=0))
    task.log = Failing()
    task.versions = TaskVersions(
        Memory(), tmp_path, task.log, TaskKey("app", "g", 0), ["s"], upkeep=Upkeep(floor_bytes=1)
    )
    task.commit([(b"k", b"1")])
    assert (len(task.pointer.snapshot), len(task.pointer.deltas)) == (0, 1)


@pytest.mark.parametrize(
    ("field", "low"),
    [
        ("merge_count", 2),
        ("merge_bytes", 0),
        ("max_deltas", 1),
        ("snapshot_fraction", 0),
        ("floor_bytes", 0),
        ("small_bytes", 0),
        ("chunk_bytes", 1),
    ],
)
def test_upkeep_rejects_settings_out_of_range(field: str, low: int) -> None:
    given: dict[str, Any] = {field: low}
    assert getattr(Upkeep(**given), field) == low
    with pytest.raises(ValueError, match=rf"Upkeep\({field}=-?\d\): expected {low} or more"):
        Upkeep(**{field: low - 1})
