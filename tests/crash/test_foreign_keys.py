"""Crashes in each stage of a foreign-key join: the results equal the join of both tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams.batch import query_driver
from kstreams.state import Memory
from kstreams.state.log.directory import Directory
from kstreams_rocksdb import RocksDB
from tests.crash.foreign_key_app import JoinHarness
from tests.support.crash.failpoints import Point
from tests.support.crash.harness import Recovery

POINTS = (
    Point("amid-left-rows", "process", nth=7),
    Point("amid-subscriptions", "process", nth=45),
    Point("amid-responses", "process", nth=80),
    Point("no-pack-of-the-first-stage", "before put pack"),
    Point("pack-of-the-first-stage-alone", "after put pack"),
    Point("pack-of-the-second-stage-too", "after put pack", nth=2),
    Point("amid-the-third-stages-pack", "amid put pack", nth=3),
    Point("first-stage-told", "task told", nth=2),
    Point("second-stage-told", "task told", nth=4),
    Point("last-stage-told", "task told", nth=7),
    Point("all-done-and-no-commit", "before put commit", dies="driver"),
    Point("reply-of-commit-lost", "lost reply of put commit", dies="nobody"),
    Point("committed-and-spark-not-told", "after put commit", dies="driver"),
    Point("cut-and-not-run", "after replace plan", dies="driver", max_bytes=100),
    Point("amid-the-sweep", "amid delete pack", dies="driver"),
)


@pytest.mark.long
@pytest.mark.parametrize(
    ("backend", "recovery"),
    [
        (Memory, "empty machine"),
        pytest.param(Memory, "retry", marks=pytest.mark.slow),
        pytest.param(Memory, "restart", marks=pytest.mark.slow),
        pytest.param(RocksDB, "restart", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_foreign_key_join_is_exact_after_any_crash(
    point: Point,
    backend: type[Memory | RocksDB],
    recovery: Recovery,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "delete" in point.event:
        monkeypatch.setattr(query_driver, "_SWEEP_EVERY", 1)
    state = backend(directory=str(tmp_path / "local"))
    log = Directory(str(tmp_path / "log"))
    harness = JoinHarness(tmp_path, state, log, point, recovery, monkeypatch)
    # of the stages after it, the second one finds the files of the dead attempt on the disk
    harness.die_and_go_on(before=2, most=4, after=3)
