"""Two drivers on one checkpoint without a lock: late actions of the older one change nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from kstreams.batch import query_driver
from kstreams.errors import FencedError
from kstreams.state import Memory
from kstreams.state.log.directory import Directory
from tests.crash.global_table_app import FILLS, READS, GlobalHarness
from tests.support.crash.failpoints import Point
from tests.support.crash.harness import Harness
from tests.support.crash.loop_app import LoopHarness
from tests.support.crash.marking_app import batch_of, emit

H = TypeVar("H", bound=Harness)


def app(kind: type[H], home: Path, patch: pytest.MonkeyPatch) -> H:
    """Start an app, and run two batches of it."""
    patch.setattr(query_driver, "_SWEEP_EVERY", 1)
    state, log = Memory(directory=str(home / "local")), Directory(str(home / "log"))
    harness = kind(home, state, log, Point("nothing-dies", "never"), "retry", patch)
    harness.start_driver()
    harness.batch()
    harness.batch()
    return harness


def start_beside(harness: Harness) -> None:
    """Start another driver, which is used from here on."""
    harness.queries = {}
    harness.start_driver()


def before(driver: Any, call: str, does: Callable[[], object], patch: pytest.MonkeyPatch) -> None:
    """Call a function before each call of a driver's method."""
    real = getattr(driver, call)

    def later(*given: Any) -> Any:
        does()
        return real(*given)

    patch.setattr(driver, call, later)


def fenced() -> None:
    raise FencedError("the checkpoint was taken over")


@pytest.mark.long
@pytest.mark.parametrize("moment", ["before it commits", "before it publishes", "before it sweeps"])
@pytest.mark.parametrize("more", [0, 4], ids=["soon", "when its batch is forgotten"])
def test_older_driver_that_hangs_and_continues_changes_nothing(
    moment: str, more: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records that it sends into a loop count once or not at all."""
    harness = app(LoopHarness, tmp_path, monkeypatch)
    older = harness.query
    assert older.driver.last is not None

    def newer() -> None:
        if harness.query is older:
            monkeypatch.setattr(older.driver, "fence", fenced)
            start_beside(harness)
            harness.run_until_committed()
            for _ in range(more):
                harness.batch()

    owner, call = {
        "before it commits": (older.driver._opened.commits, "add"),
        "before it publishes": (older.driver.feed, "publish"),
        "before it sweeps": (older.driver, "sweep"),
    }[moment]
    before(owner, call, newer, monkeypatch)
    records = batch_of(len(harness.input))
    emit(harness.connection, records, len(harness.input))
    harness.input += records
    if moment != "before it commits":
        older.run_batch()
    with pytest.raises(FencedError):
        older.run_batch()
    with pytest.raises(FencedError):
        older.check()
    harness.batch()
    harness.check()


def test_cleanup_by_an_older_driver_keeps_records_in_loops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = app(LoopHarness, tmp_path, monkeypatch)
    older = harness.query.driver
    start_beside(harness)
    before(harness.query.driver, "commit", older.sweep, monkeypatch)
    harness.batch()
    harness.batch()
    harness.check()


def test_cleanup_by_an_older_driver_keeps_table_versions_in_newer_plans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = app(GlobalHarness, tmp_path, monkeypatch)
    older = harness.queries[FILLS].driver
    start_beside(harness)

    def table_goes_on() -> None:
        for _ in range(3):
            harness.fill()
        older.sweep()

    before(harness.queries[READS]._attempts, "run", table_goes_on, monkeypatch)
    harness.read()
    harness.read()
    harness.check()


def test_older_driver_does_not_run_the_plan_of_a_newer_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = app(LoopHarness, tmp_path, monkeypatch)
    older = harness.query.driver
    start_beside(harness)
    emit(harness.connection, batch_of(0), 9)
    newer = harness.query.driver
    plan = newer.next_plan()
    assert plan is not None
    assert newer.last is not None
    batch = newer.last.batch + 1
    assert newer.planned(batch) is None
    newer.record(batch, plan)
    assert newer.planned(batch) is not None
    assert older.planned(batch) is None
    with pytest.raises(FencedError, match=f"plan {batch} .* was written by another driver"):
        older.record(batch, plan)
