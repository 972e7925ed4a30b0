"""Packs hold the small objects of several tasks, which pointers name by byte range."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from kstreams.clock import FakeClock
from kstreams.errors import StateCorruptError, StoreError
from kstreams.state.backend.memory import Memory, MemoryStore
from kstreams.state.backend.task_key import TaskKey, new_attempt, packs_prefix
from kstreams.state.backend.working import Changes, StoreChanges
from kstreams.state.log import packs as packs_module
from kstreams.state.log.durable import Attempt, DurableLog, checked_object
from kstreams.state.log.packs import PART_BYTES, Packs
from kstreams.state.log.pointer import PackPart, Pointer
from kstreams.state.log.traffic import CountedObjects
from kstreams.state.log.upkeep import Upkeep
from kstreams.state.versions.background import BackgroundUpkeep
from kstreams.state.versions.checkout import Checkout
from kstreams.state.versions.versions import TaskVersions
from tests.support.storage.counting_object_store import ObjectDict

PREFIX = packs_prefix("app", "epoch")


class Worker:
    """A worker that runs three tasks, one after the other, and then waits for their deltas."""

    def __init__(self, home: Path, upkeep: Upkeep | None = None) -> None:
        self.home = home
        self.log = ObjectDict()
        self.upkeep = upkeep
        self.background = BackgroundUpkeep(clock=FakeClock())
        self.pointers = [Pointer.empty()] * 3
        self.batch = 0

    def begin(self, packs: Packs, changes: Changes) -> list[tuple[Checkout, Pointer]]:
        """Begin a commit of each task."""
        begun: list[tuple[Checkout, Pointer]] = []
        for task, pointer in enumerate(self.pointers):
            versions = TaskVersions(
                Memory(),
                self.home,
                self.log,
                TaskKey("app", "g", task),
                ["s"],
                upkeep=self.upkeep,
                background=self.background,
                packs=packs,
            )
            with versions.checkout(pointer, Attempt(new_attempt(), self.batch)) as checkout:
                begun.append((checkout, checkout.begin_commit(changes, {})))
        return begun

    def run(self, changes: Changes) -> None:
        """Run a batch, and commit it."""
        begun = self.begin(Packs(self.log, PREFIX, self.batch), changes)
        for checkout, _ in begun:
            checkout.settle()
        self.background.drain()
        self.pointers = [pointer for _, pointer in begun]
        self.batch += 1

    def rows(self, task: int) -> dict[bytes, bytes]:
        """Return the rows that a restore of a task finds."""
        store = MemoryStore(["s"])
        DurableLog(self.log, TaskKey("app", "g", task)).restore(self.pointers[task], store)
        return dict(store.scan("s", None, None))


@pytest.fixture
def worker(tmp_path: Path) -> Worker:
    return Worker(tmp_path)


def row(key: bytes, value: bytes = b"x") -> Changes:
    return {"s": StoreChanges([(key, value)])}


def test_deltas_of_all_tasks_are_one_object_and_are_restored_by_range(worker: Worker) -> None:
    worker.run(row(b"a"))
    worker.run(row(b"b"))
    assert [name.rpartition("/")[2].split("-")[0] for name in worker.log.list("")] == [
        f"{batch:020d}" for batch in (0, 1)
    ]
    assert [worker.rows(task) for task in range(3)] == [{b"a": b"x", b"b": b"x"}] * 3


def test_pack_is_not_written_before_a_task_waits_for_it(worker: Worker) -> None:
    begun = worker.begin(Packs(worker.log, PREFIX, 0), row(b"a"))
    assert list(worker.log.list("")) == []
    begun[1][0].settle()
    (pack,) = worker.log.list("")
    assert len(worker.log.get(pack)) == sum(p.deltas[0].size_bytes for _, p in begun)


def test_delta_after_the_upload_has_begun_is_in_another_pack(worker: Worker) -> None:
    packs = Packs(worker.log, PREFIX, 0)
    worker.begin(packs, row(b"a"))[0][0].settle()
    worker.begin(packs, row(b"b"))[0][0].settle()
    assert [name[-7:] for name in sorted(worker.log.list(""))] == ["-0.pack", "-1.pack"]


def test_full_pack_is_written_while_tasks_run(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packs_module, "PACK_BYTES", 1)
    worker.run(row(b"a"))
    assert len(list(worker.log.list(""))) == 3
    assert [worker.rows(task) for task in range(3)] == [{b"a": b"x"}] * 3


def test_large_delta_is_an_object_of_its_own(worker: Worker) -> None:
    value = random.Random(1).randbytes(PART_BYTES)
    worker.run(row(b"a", value))
    assert {name[-6:] for name in worker.log.list("")} == {".delta"}
    assert worker.rows(2) == {b"a": value}


def test_state_of_earlier_objects_and_packs_is_restored_and_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(tmp_path, Upkeep(merge_count=3, small_bytes=0))
    with monkeypatch.context() as patch:
        patch.setattr(packs_module, "PART_BYTES", 0)
        for number in range(2):
            worker.run(row(str(number).encode()))
    worker.pointers = [
        Pointer.from_json(each.to_json().replace('"f":3', '"f":2', 1)) for each in worker.pointers
    ]
    seen: set[str] = set()
    for number in range(2, 9):
        worker.run(row(str(number).encode()))
        names = [ref.name for ref in worker.pointers[0].deltas]
        seen.add("".join(sorted({name.rpartition(".")[2] for name in names})))
        expected = {str(each).encode(): b"x" for each in range(number + 1)}
        assert [worker.rows(task) for task in range(3)] == [expected] * 3
    assert seen == {"deltapack", "pack"}


def test_small_merged_deltas_and_chunks_are_parts_of_the_packs(tmp_path: Path) -> None:
    worker = Worker(tmp_path, Upkeep(merge_count=2, max_deltas=4, small_bytes=0))
    kinds: set[tuple[int, int]] = set()
    for number in range(24):
        worker.run(row(str(number % 5).encode(), str(number).encode()))
        kinds |= {(len(p.snapshot), max(r.level for r in p.deltas)) for p in worker.pointers}
        assert [worker.rows(task) for task in range(3)] == [
            {str(n % 5).encode(): str(n).encode() for n in range(number + 1)}
        ] * 3
    assert {name[-5:] for name in worker.log.list("")} == {".pack"}
    assert len(list(worker.log.list(""))) == 24
    assert {snapshot for snapshot, _ in kinds} == {0, 1}
    assert max(level for _, level in kinds) >= 1


def test_upkeep_of_recent_deltas_reads_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(tmp_path, Upkeep(merge_count=2, small_bytes=0))
    reads: list[str] = []
    get = ObjectDict.get

    def counted(objects: ObjectDict, name: str, start: int = 0, length: int | None = None) -> bytes:
        reads.append(name)
        return get(objects, name, start, length)

    monkeypatch.setattr(ObjectDict, "get", counted)
    for number in range(8):
        worker.run(row(str(number).encode()))
    assert max(ref.level for ref in worker.pointers[0].deltas) >= 1
    assert reads == []


def test_failed_upload_fails_each_task_and_leaves_the_last_version(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.run(row(b"a"))

    def refuse(*_: object) -> bool:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(ObjectDict, "put_if_absent", refuse)
        for checkout, _ in worker.begin(Packs(worker.log, PREFIX, 1), row(b"b")):
            with pytest.raises(StoreError, match="the disk is full"):
                checkout.settle()
    worker.run(row(b"c"))
    assert worker.rows(0) == {b"a": b"x", b"c": b"x"}


def test_pack_is_uploaded_although_the_reply_was_lost(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = ObjectDict.put_if_absent
    monkeypatch.setattr(ObjectDict, "put_if_absent", lambda *given: (put(*given), put(*given))[1])
    worker.run(row(b"a"))
    assert worker.rows(1) == {b"a": b"x"}


def test_requests_for_a_pack_are_counted_once(worker: Worker) -> None:
    packs = Packs(CountedObjects(worker.log), PREFIX, 0)
    for checkout, _ in worker.begin(packs, row(b"a")):
        checkout.settle()
    assert [packs.traffic().puts, packs.traffic().puts] == [1, 0]


@pytest.mark.parametrize(("start", "size"), [(1, 0), (0, 1), (0, -1), (10_000, 0)])
def test_wrong_range_of_a_pack_is_an_error_that_names_the_part(
    worker: Worker, start: int, size: int
) -> None:
    worker.run(row(b"a"))
    (ref,) = worker.pointers[1].deltas
    assert ref.part is not None
    part = PackPart(ref.part.start + start, ref.version)
    wrong = replace(ref, part=part, size_bytes=ref.size_bytes + size)
    assert checked_object(worker.log, ref)
    with pytest.raises(StateCorruptError, match=f"pack from byte {part.start}' of the state's log"):
        checked_object(worker.log, wrong)
    other = replace(ref, digest="0" * 16)
    with pytest.raises(StateCorruptError, match="is not the one that was committed"):
        checked_object(worker.log, other)


def test_missing_pack_is_an_error(worker: Worker) -> None:
    worker.run(row(b"a"))
    worker.log.delete(list(worker.log.list("")))
    with pytest.raises(StateCorruptError, match="is missing"):
        worker.rows(0)
