"""Crashes with a global table: a repeated batch reads the table version of its plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kstreams.state import Memory
from kstreams.state.log.directory import Directory
from kstreams_rocksdb import RocksDB
from tests.crash.global_table_app import GlobalHarness
from tests.support.crash.failpoints import Point
from tests.support.crash.harness import RECOVERIES, Recovery

Backend = type[Memory | RocksDB]
Play = Callable[[GlobalHarness], None]

OF_COPIES = (
    Point("copy-half-branched", "amid branch of copy"),
    Point("copy-not-written", "before write copy"),
    Point("copy-not-closed", "before close copy"),
    Point("copy-closed-and-not-named", "after close copy"),
    Point("copy-made-and-not-opened", "before open shared"),
)
"""Points of a copy of the table on a machine; the in-memory backend makes none."""

OF_READERS = (
    Point("amid-records", "process", nth=3),
    Point("amid-the-pack", "amid put pack"),
    Point("all-told-and-no-answer", "task told"),
    Point("all-done-and-no-commit", "before put commit", dies="driver"),
    Point("reply-of-commit-lost", "lost reply of put commit", dies="nobody"),
    Point("committed-and-not-published", "after put commit", dies="driver"),
)
"""Points of a batch that reads the table."""

OF_WRITERS = (
    Point("amid-rows", "process", nth=3),
    Point("rows-and-no-commit", "before put commit", dies="driver"),
    Point("rows-committed-and-not-told", "after put commit", dies="driver"),
    Point("amid-forgetting-versions", "amid delete commit", dies="driver"),
    Point("amid-collecting-versions", "amid delete chunk", dies="driver", own_objects=True),
)
"""Points of a batch that fills the table, and of the clean-up after it."""

SOME_SLOW = [
    pytest.param(way, marks=() if way == "empty machine" else pytest.mark.slow)
    for way in RECOVERIES
]


def play(
    home: Path,
    backend: Backend,
    point: Point,
    recovery: Recovery,
    patch: pytest.MonkeyPatch,
    step: Play,
) -> None:
    """Run some batches, die at the point in a step, recover, run some more, and check."""
    state, log = backend(directory=str(home / "local")), Directory(str(home / "log"))
    harness = GlobalHarness(home, state, log, point, recovery, patch)
    harness.start_driver()
    harness.batch()
    harness.batch()
    harness.fill()
    harness.arm()
    step(harness)
    assert harness.faults.struck
    if point.dies == "nobody":
        harness.end_process()
    for _ in range(2):
        harness.batch()
    harness.check()


@pytest.mark.long
@pytest.mark.parametrize("recovery", SOME_SLOW)
@pytest.mark.parametrize("point", OF_READERS, ids=lambda point: point.name)
def test_batch_repeated_after_a_crash_reads_the_planned_version_of_a_global_table(
    point: Point, recovery: Recovery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(tmp_path, Memory, point, recovery, monkeypatch, GlobalHarness.read)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("recovery", ["retry", "restart"])
@pytest.mark.parametrize("point", OF_COPIES, ids=lambda point: point.name)
def test_partial_copy_of_a_global_table_left_by_a_crash_is_made_again(
    point: Point, recovery: Recovery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(tmp_path, RocksDB, point, recovery, monkeypatch, GlobalHarness.read)


@pytest.mark.parametrize("recovery", SOME_SLOW)
@pytest.mark.parametrize("point", OF_WRITERS, ids=lambda point: point.name)
def test_global_table_has_each_row_after_its_query_dies(
    point: Point, recovery: Recovery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(tmp_path, Memory, point, recovery, monkeypatch, fills)


def fills(harness: GlobalHarness) -> None:
    """Write all rows of the table, at most four times, until the fault has occurred."""
    for _ in range(4):
        if not harness.faults.struck:
            harness.fill()
