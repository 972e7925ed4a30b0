"""A task's state with its log on S3, while storage and network fail."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import pytest

from devtools.servers.fault_proxy import CutUpload, DropReply, Fault, FaultProxy, Refuse, Truncate
from devtools.servers.s3 import Bucket
from kstreams.errors import StateCorruptError
from kstreams.state.backend.task_key import TaskKey, new_attempt
from kstreams.state.backend.working import StoreChanges
from kstreams.state.log.durable import Attempt
from kstreams.state.log.pointer import ObjectRef, Pointer
from kstreams.state.log.traffic import CountedObjects, Traffic
from kstreams.state.log.upkeep import Upkeep
from kstreams.state.versions.versions import TaskVersions
from kstreams_rocksdb import RocksDB
from kstreams_s3 import S3, StorageUnavailableError
from tests.stores.kstreams_s3.conftest import ThroughProxy

pytestmark = pytest.mark.slow

_UPKEEP = Upkeep(merge_count=3, floor_bytes=1500, small_bytes=0, chunk_bytes=200)
_BACKEND = RocksDB(cache_bytes=1024 * 1024)
Rows: TypeAlias = "dict[bytes, bytes]"


class Machine:
    """A worker with its own disk; `commit` represents one batch of a task."""

    def __init__(self, home: Path, log: S3, upkeep: Upkeep = _UPKEEP) -> None:
        self.home = home
        self.upkeep = upkeep
        self.objects = CountedObjects(log.open())
        self.warm: list[bool] = []

    def versions(self) -> TaskVersions:
        key = TaskKey("app", "group", 3)
        return TaskVersions(_BACKEND, self.home, self.objects, key, ["s"], upkeep=self.upkeep)

    def commit(self, pointer: Pointer, changes: Rows) -> Pointer:
        attempt = Attempt(new_attempt(), pointer.version)
        with self.versions().checkout(pointer, attempt) as checkout:
            self.warm.append(checkout.warm)
            pairs = sorted(changes.items())
            return Pointer.from_json(checkout.commit({"s": StoreChanges(pairs)}, {}).to_json())

    def read(self, pointer: Pointer) -> Rows:
        with self.versions().checkout(pointer, Attempt(new_attempt(), 0)) as checkout:
            self.warm.append(checkout.warm)
            return dict(checkout.store.scan("s", None, None))


class History:
    """A task with a snapshot of several chunks, a merged delta and plain ones."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.pointer = Pointer.empty()
        self.rows: Rows = {}
        while not (len(self.pointer.snapshot) > 2 and {0, 1} <= self._levels()):
            self.commit_more()

    def commit_more(self) -> None:
        number = self.pointer.version
        changes = {b"%04d" % n: b"%d" % number for n in range(number % 7, 200, 7)}
        self.pointer = self.machine.commit(self.pointer, changes)
        self.rows.update(changes)

    def _levels(self) -> set[int]:
        return {ref.level for ref in self.pointer.deltas}


@pytest.fixture
def history(bucket: Bucket, prefix: str, tmp_path: Path) -> History:
    return History(Machine(tmp_path / "first", bucket.settings(prefix)))


def test_machine_without_local_state_restores_from_s3_and_continues(
    history: History, bucket: Bucket, prefix: str, tmp_path: Path
) -> None:
    cold = Machine(tmp_path / "second", bucket.settings(prefix))
    assert cold.read(history.pointer) == history.rows
    assert cold.objects.take().gets == len(history.pointer.objects())
    history.machine = cold
    history.commit_more()
    assert cold.read(history.pointer) == history.rows
    assert cold.warm == [False, True, True]


def test_machine_with_local_state_writes_one_object_and_reads_none(
    bucket: Bucket, prefix: str, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, bucket.settings(prefix), Upkeep())
    pointer = machine.commit(Pointer.empty(), {b"a": b"1"})
    machine.objects.take()
    pointer = machine.commit(pointer, {b"b": b"1"})
    assert machine.warm == [True, True]
    delta = pointer.deltas[-1]
    assert machine.objects.take() == Traffic(puts=1, put_bytes=delta.size_bytes)


def test_batch_without_changes_writes_no_object(
    history: History, bucket: Bucket, prefix: str
) -> None:
    history.machine.objects.take()
    before = bucket.keys(prefix)
    assert history.machine.commit(history.pointer, {}) == history.pointer
    assert history.machine.objects.take() == Traffic()
    assert bucket.keys(prefix) == before


FAULTS: dict[str, Fault] = {
    "slow-down": Refuse(503, "SlowDown"),
    "conflict": Refuse(409, "ConditionalRequestConflict"),
    "lost-reply": DropReply(),
    "cut-upload": CutUpload(20),
}


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_no_row_is_lost_while_every_second_s3_request_fails(
    faulty: ThroughProxy, proxy: FaultProxy, tmp_path: Path, fault: Fault
) -> None:
    machine = Machine(tmp_path / "first", faulty())
    pointer = Pointer.empty()
    rows: Rows = {}
    for number in range(6):
        proxy.inject(fault, method="PUT", contains="/app/")
        changes = {b"%d" % (number % 4): b"%d" % number}
        pointer = machine.commit(pointer, changes)
        rows.update(changes)
    proxy.inject(fault, method="GET", contains="/app/", times=2)
    assert Machine(tmp_path / "second", faulty()).read(pointer) == rows


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_batch_that_could_not_be_written_to_s3_leaves_no_objects(
    faulty: ThroughProxy, proxy: FaultProxy, tmp_path: Path, fault: Fault
) -> None:
    """Spark repeats the batch as another attempt, which ignores the files of the first."""
    hasty = faulty(give_up_after=timedelta(seconds=0.01))
    machine = Machine(tmp_path / "first", hasty)
    pointer = machine.commit(Pointer.empty(), {b"a": b"1", b"b": b"1"})
    proxy.inject(fault, method="PUT", contains="/app/", times=1000)
    with pytest.raises(StorageUnavailableError, match="cannot write object"):
        machine.commit(pointer, {b"a": b"lost", b"c": b"lost"})
    proxy.heal()
    assert machine.read(pointer) == {b"a": b"1", b"b": b"1"}
    again = machine.commit(pointer, {b"a": b"2"})
    expected = {b"a": b"2", b"b": b"1"}
    assert machine.read(again) == expected
    assert Machine(tmp_path / "second", hasty).read(again) == expected


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "deleted": lambda data: None,
    "flipped": flipped,
    "truncated": lambda data: data[:-5],
    "cut-to-a-byte": lambda data: data[:1],
}


def chosen(pointer: Pointer) -> dict[str, ObjectRef]:
    """Return one object of each kind, from the middle of the chain where there are several."""
    return {
        "chunk": pointer.snapshot[1],
        "run": next(ref for ref in pointer.deltas if ref.level),
        "delta": pointer.deltas[-1],
    }


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_error_of_damaged_objects_names_storage_and_task(
    history: History,
    bucket: Bucket,
    prefix: str,
    tmp_path: Path,
    damage: Callable[[bytes], bytes | None],
) -> None:
    for kind, ref in chosen(history.pointer).items():
        key = f"{prefix}/{ref.name}"
        found = bucket.client.get_object(Bucket=bucket.name, Key=key)
        good = found["Body"].read()
        bad = damage(good)
        if bad is None:
            bucket.client.delete_object(Bucket=bucket.name, Key=key)
        else:
            bucket.client.put_object(Bucket=bucket.name, Key=key, Body=bad)
        cold = Machine(tmp_path / kind, bucket.settings(prefix))
        with pytest.raises(StateCorruptError) as caught:
            cold.read(history.pointer)
        for word in (ref.name, f"s3://{bucket.name}/{prefix}/", "Hint:"):
            assert word in str(caught.value)
        where = caught.value.where
        assert (where.app, where.group, where.partition) == ("app", "group", 3)
        bucket.client.put_object(Bucket=bucket.name, Key=key, Body=good)
        assert cold.read(history.pointer) == history.rows


def test_object_damaged_in_transit_does_not_fail_a_restore(
    history: History, faulty: ThroughProxy, proxy: FaultProxy, tmp_path: Path
) -> None:
    proxy.inject(Truncate(3), method="GET", contains="/app/", times=2)
    cold = Machine(tmp_path / "second", faulty())
    assert cold.read(history.pointer) == history.rows
