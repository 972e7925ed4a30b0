"""Crashes at every named point, by backend and kind of recovery: results are exact."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from devtools.servers.s3 import Bucket
from kstreams.batch import query_driver
from kstreams.checkpoint.savepoint.fork import ForkSource, fork
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.state import CopiesVersions, Memory
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.log.directory import Directory
from kstreams.state.versions.resident_store import RESIDENT_BYTES
from kstreams_rocksdb import RocksDB
from kstreams_s3 import S3
from kstreams_s3.store import S3ObjectStore
from tests.support.crash.failpoints import POINTS, Point
from tests.support.crash.faults import FaultyLog
from tests.support.crash.harness import RECOVERIES, Harness, Recovery

Logs = Callable[[str], ObjectStoreSettings]
BEFORE, AFTER = 2, 2
_MOST_BATCHES = 5


@dataclass(frozen=True)
class SharedS3:
    """A prefix of a bucket; all prefixes share one client, which is slow to create."""

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


def cells() -> Iterator[Any]:
    """Yield each point and recovery, by backend and by the store of log and checkpoint."""
    for backend, place, ways in (
        ("memory", "directory", RECOVERIES),
        ("memory", "objects", ("restart",)),
        ("rocksdb", "directory", RECOVERIES),
        ("rocksdb", "objects", ("restart",)),
        ("open", "directory", RECOVERIES),
        ("resident", "directory", RECOVERIES),
        # Nothing is left of the app except its objects on S3.
        ("rocksdb", "s3", ("empty machine",)),
    ):
        marks = () if backend == "memory" else pytest.mark.slow
        for point, way in product(POINTS, ways):
            if (
                (point.in_memory or backend != "memory")
                and (point.on_s3 or place != "s3")
                and not (point.ahead and place == "directory")
                and not (point.on_local_disk and backend == "resident")
            ):
                name = f"{point.name}, {backend}, {place}, {way}"
                yield pytest.param(backend, place, point, way, id=name, marks=marks)


@pytest.mark.long
@pytest.mark.parametrize(("backend", "place", "point", "recovery"), [*cells()])
def test_results_are_exact_after_any_crash(
    backend: str,
    place: str,
    point: Point,
    recovery: Recovery,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A directory holds log and checkpoint. Elsewhere, each new driver takes over."""

    def logs(name: str) -> ObjectStoreSettings:
        if place != "s3":
            return Directory(str(tmp_path / name))
        bucket: Bucket = request.getfixturevalue("bucket")
        settings = bucket.settings(f"crash/{tmp_path.name}-{run}/{name}")
        return SharedS3(settings, request.getfixturevalue("client"))

    run = uuid.uuid4().hex[:8]
    home = None if place == "directory" else logs("checkpoint")
    cell(backend, logs, point, recovery, tmp_path, monkeypatch, home)


def cell(
    backend: str,
    logs: Logs,
    point: Point,
    recovery: Recovery,
    home: Path,
    patch: pytest.MonkeyPatch,
    place: ObjectStoreSettings | None = None,
) -> None:
    """Run some batches, die at the point, recover, run some more, and check the results."""
    local = str(home / "local")
    if "delete" in point.event:
        patch.setattr(query_driver, "_SWEEP_EVERY", 1)
    kinds: dict[str, CopiesVersions] = {
        "memory": Memory(local),
        "rocksdb": RocksDB(local, open_bytes=0),
        "open": RocksDB(local),
        "resident": RocksDB(local),
    }
    kind = ResidentHarness if backend == "resident" else Harness
    harness = kind(home, kinds[backend], logs("log"), point, recovery, patch, place)
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


class ResidentHarness(Harness):
    """An app whose state stays in memory, without a database."""

    resident_bytes = RESIDENT_BYTES


def batch(harness: Harness, _logs: Logs) -> None:
    """Die in a batch."""
    harness.die_in_a_batch(_MOST_BATCHES)


def savepoint(harness: Harness, _logs: Logs) -> None:
    """Die while a savepoint is made: it is complete afterwards, or does not exist."""
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
    """Die while a fork copies: it is complete after another attempt; the original continues."""
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
