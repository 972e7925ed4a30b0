"""Death at every named moment, on every backend, and every way to go on: one truth remains."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from devtools.servers.s3 import Bucket
from kstreams.batch import query_driver
from kstreams.checkpoint.fork import ForkSource, fork
from kstreams.checkpoint.home import CheckpointHome
from kstreams.checkpoint.object_home import ObjectHome
from kstreams.checkpoint.savepoints import Savepoints
from kstreams.state import Memory
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.log.directory import Directory
from kstreams_rocksdb import RocksDB
from kstreams_s3 import S3
from kstreams_s3.store import S3ObjectStore
from tests.crash.failpoints import POINTS, Point
from tests.crash.faults import FaultyLog
from tests.crash.harness import RECOVERIES, Harness, Recovery

Logs = Callable[[str], ObjectStoreSettings]
BEFORE, AFTER = 2, 2
_MOST_BATCHES = 5


@dataclass(frozen=True)
class SharedS3:
    """A prefix of a bucket; all prefixes have one client, which takes long to make."""

    settings: S3
    client: S3ObjectStore

    def open(self) -> S3ObjectStore:
        opened = self.settings.open()
        opened._made = self.client._made
        opened._proved = self.client._proved
        return opened


@pytest.fixture(scope="module")
def client(bucket: Bucket) -> S3ObjectStore:
    opened = bucket.settings("crash").open()
    opened.put_if_absent(f"first-{uuid.uuid4().hex}", b"")
    return opened


def cells(
    backend: str, points: Iterable[Point], ways: Sequence[Recovery] = RECOVERIES
) -> list[Any]:
    """Return each of some points with each recovery, on a backend."""
    marks = () if backend == "memory" else pytest.mark.slow
    return [
        pytest.param(backend, point, way, id=f"{point.name}, {backend}, {way}", marks=marks)
        for point, way in product(points, ways)
    ]


@pytest.mark.parametrize(
    ("backend", "point", "recovery"),
    [*cells("memory", (p for p in POINTS if p.in_memory)), *cells("rocksdb", POINTS)],
)
def test_on_disk(
    backend: str,
    point: Point,
    recovery: Recovery,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def logs(name: str) -> ObjectStoreSettings:
        return Directory(str(tmp_path / name))

    cell(backend, logs, point, recovery, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("backend", "point", "recovery"),
    cells("memory", (p for p in POINTS if p.in_memory), ["restart"]),
)
def test_without_a_directory(
    backend: str,
    point: Point,
    recovery: Recovery,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The checkpoint is an object store: each new driver takes over."""

    def logs(name: str) -> ObjectStoreSettings:
        return Directory(str(tmp_path / name))

    place = ObjectHome(logs("objects"))
    cell(backend, logs, point, recovery, tmp_path, monkeypatch, place)


@pytest.mark.parametrize(
    ("backend", "point", "recovery"),
    # Where nothing else is left of the app than what is on S3.
    cells("rocksdb", (p for p in POINTS if p.on_s3), ["empty machine"]),
)
def test_on_s3(
    backend: str,
    bucket: Bucket,
    client: S3ObjectStore,
    point: Point,
    recovery: Recovery,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prefix = f"crash/{uuid.uuid4().hex}"

    def logs(name: str) -> ObjectStoreSettings:
        return SharedS3(bucket.settings(f"{prefix}/{name}"), client)

    cell(backend, logs, point, recovery, tmp_path, monkeypatch)


def cell(
    backend: str,
    logs: Logs,
    point: Point,
    recovery: Recovery,
    home: Path,
    patch: pytest.MonkeyPatch,
    place: CheckpointHome | None = None,
) -> None:
    """Run some batches, die at the point, recover, run some more, and compare."""
    kind = Memory if backend == "memory" else RocksDB
    if "delete" in point.event:
        patch.setattr(query_driver, "_SWEEP_EVERY", 1)
    harness = Harness(
        home, kind(directory=str(home / "local")), logs("log"), point, recovery, patch, place
    )
    harness.start_driver()
    for _ in range(BEFORE):
        harness.batch()
    if point.cold:
        harness.lose_local_state()
    PLAYS[point.does](harness, logs)
    assert harness.faults.struck
    for _ in range(AFTER):
        harness.batch()
    harness.check()


def batch(harness: Harness, _logs: Logs) -> None:
    """Die in a batch."""
    harness.arm()
    for _ in range(_MOST_BATCHES):
        if not harness.faults.struck:
            harness.batch()
    if harness.point.dies == "nobody":
        harness.end_process()


def savepoint(harness: Harness, _logs: Logs) -> None:
    """Die while a savepoint is made: it is there and whole, or it is not."""
    state = harness.state()
    savepoints = Savepoints(harness.checkpoint, harness.faulty_log.open())
    harness.arm()
    harness.guarded(partial(savepoints.create, "kept", harness.clock))
    savepoints = Savepoints(harness.checkpoint, harness.log.open())
    if "kept" not in savepoints.names():
        savepoints.create("kept", harness.clock)
    for _ in range(2 * BEFORE):
        harness.batch()
    source = ForkSource(harness.checkpoint.home.named, "kept", log=harness.log)
    log = Directory(str(harness.home / "fork-log"))
    fork(source, harness.home / "fork", "forked", log=log)
    assert harness.state(harness.home / "fork", log) == state
    savepoints.delete("kept")


def fork_it(harness: Harness, logs: Logs) -> None:
    """Die while a fork copies: again, and it is whole; the original goes on."""
    savepoints = Savepoints(harness.checkpoint, harness.log.open())
    savepoints.create("kept", harness.clock)
    state = harness.state()
    source = ForkSource(harness.checkpoint.home.named, "kept", log=harness.log)
    target, log = harness.home / "fork", logs("fork-log")
    harness.arm()
    faulty = FaultyLog(log, harness.faults)
    harness.guarded(lambda: fork(source, target, "forked", log=faulty))
    assert not (target / "app.json").exists()
    fork(source, target, "forked", log=log)
    assert harness.state(target, log) == state
    savepoints.delete("kept")


PLAYS = {"batch": batch, "savepoint": savepoint, "fork": fork_it}
