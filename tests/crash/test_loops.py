"""Crashes between the objects of a loop, commit and plan; each hop is counted once."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from devtools.servers.s3 import Bucket
from kstreams.batch import query_driver
from kstreams.state import Memory
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.log.directory import Directory
from kstreams_rocksdb import RocksDB
from tests.support.crash.failpoints import Point
from tests.support.crash.harness import Recovery
from tests.support.crash.loop_app import LoopHarness

POINTS = (
    Point("amid-records", "process", nth=3),
    Point("amid-records-of-a-loop", "process", nth=50),
    Point("before-the-object", "before put loop"),
    Point("amid-the-object", "amid put loop"),
    Point("object-and-no-delta", "after put loop"),
    Point("object-that-nobody-names", "after put pack"),
    Point("reply-of-object-lost", "lost reply of put loop", dies="nobody"),
    Point("all-told-and-no-answer", "task told", nth=3),
    Point("object-and-no-commit", "before put commit", dies="driver"),
    Point("object-and-no-commit-of-a-hop", "before put commit", nth=2, dies="driver"),
    Point("committed-and-not-planned", "after put commit", dies="driver"),
    Point("hop-committed-and-not-planned", "after put commit", nth=2, dies="driver"),
    Point("last-hop-committed", "after put commit", nth=4, dies="driver"),
    Point("reply-of-commit-lost", "lost reply of put commit", dies="nobody"),
    Point("half-published", "published one", dies="driver"),
    Point("spark-not-told", "reported", dies="driver"),
    Point("cut-and-not-run", "after replace plan", dies="driver", max_bytes=400),
    Point("before-the-sweep", "before delete loop", dies="driver"),
    Point("amid-the-sweep", "amid delete loop", dies="driver"),
    Point("behind-the-sweep", "after delete loop", dies="driver"),
)


def play(
    home: Path,
    log: ObjectStoreSettings,
    point: Point,
    recovery: Recovery,
    patch: pytest.MonkeyPatch,
    backend: type[Memory | RocksDB] = Memory,
) -> None:
    """Run some batches, die at the point, recover, run some more, and check the results."""
    if "delete" in point.event:
        patch.setattr(query_driver, "_SWEEP_EVERY", 1)
    state = backend(directory=str(home / "local"))
    harness = LoopHarness(home, state, log, point, recovery, patch)
    harness.die_and_go_on(before=1, after=1)


@pytest.mark.long
@pytest.mark.parametrize(
    "recovery",
    ["retry", pytest.param("restart", marks=pytest.mark.slow), "empty machine"],
)
@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_each_hop_of_a_loop_counts_once_after_a_crash(
    point: Point, recovery: Recovery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(tmp_path, Directory(str(tmp_path / "log")), point, recovery, monkeypatch)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS[2:10], ids=lambda point: point.name)
def test_each_hop_of_a_loop_counts_once_on_s3_and_rocksdb(
    point: Point, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = bucket.settings(f"crash/{uuid.uuid4().hex}")
    play(tmp_path, log, point, "empty machine", monkeypatch, RocksDB)
