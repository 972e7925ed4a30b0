"""Two drivers on a checkpoint without a lock: the newer one continues, the older one is fenced."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kstreams.batch import query_driver
from kstreams.checkpoint.planning.plans import Plan
from kstreams.checkpoint.takeover import take_over
from kstreams.errors import FencedError
from kstreams.execution.query_loop import QueryLoop
from kstreams.state import Memory
from kstreams.state.log.directory import Directory
from tests.crash.test_two_drivers import before, start_beside
from tests.support.crash.failpoints import Point
from tests.support.crash.loop_app import LoopHarness
from tests.support.crash.marking_app import batch_of, emit


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoopHarness:
    """Start an app whose checkpoint is in an object store, and run two batches of it."""
    monkeypatch.setattr(query_driver, "_SWEEP_EVERY", 1)
    place = Directory(str(tmp_path / "objects"))
    state, log = Memory(directory=str(tmp_path / "local")), Directory(str(tmp_path / "log"))
    point = Point("nothing-dies", "never")
    made = LoopHarness(tmp_path, state, log, point, "retry", monkeypatch, place)
    made.start_driver()
    made.batch()
    made.batch()
    return made


def emitted(harness: LoopHarness) -> None:
    """Emit a batch of records that no driver has planned yet."""
    records = batch_of(len(harness.input))
    emit(harness.connection, records, len(harness.input))
    harness.input += records


def run_until_it_fails(older: QueryLoop) -> None:
    """Continue a driver that was hanging, and check that it is fenced."""

    def run_batches() -> None:
        for _ in range(5):
            older.run_batch()

    with pytest.raises(FencedError):
        run_batches()


def line_of(harness: LoopHarness) -> list[int]:
    """Return the newest batches, and check that each follows the one before."""
    log = harness.checkpoint.commits(harness.query.name, harness.log.open())
    commits = log.recent(2)
    for earlier, commit in pairwise(commits):
        assert commit.after == earlier.id
    return [commit.batch for commit in commits]


@pytest.mark.long
@pytest.mark.parametrize("more", [0, 4], ids=["soon", "when its number is free again"])
def test_older_driver_is_refused_before_any_output(harness: LoopHarness, more: int) -> None:
    older = harness.query
    start_beside(harness)
    for _ in range(more):
        harness.batch()
    emitted(harness)
    ran: list[int] = []
    older._attempts.run = lambda *given: ran.append(given[1])  # type: ignore[method-assign,assignment]
    with pytest.raises(FencedError):
        older.run_batch()
    with pytest.raises(FencedError, match="was written by another driver"):
        older.check()
    assert ran == []
    harness.run_until_committed()
    line_of(harness)
    harness.check()


@pytest.mark.long
@pytest.mark.parametrize("more", [0, 4], ids=["soon", "when its batch is forgotten"])
def test_unfinished_batch_is_run_again_by_the_newer_driver(
    harness: LoopHarness, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The older driver hangs before its commit, or until its batch is forgotten."""
    older = harness.query

    def newer() -> None:
        if harness.query is older:
            start_beside(harness)
            harness.run_until_committed()
            for _ in range(more):
                harness.batch()

    before(older.driver._opened.commits, "add", newer, monkeypatch)
    emitted(harness)
    run_until_it_fails(older)
    with pytest.raises(FencedError):
        older.check()
    harness.batch()
    harness.check()


def test_newer_driver_accepts_a_batch_that_the_older_driver_commits_first(
    harness: LoopHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = harness.query
    number = older.driver.next_batch
    hung: list[Any] = []

    def newer() -> None:
        if harness.query is older:
            start_beside(harness)
            assert harness.query.driver.planned(number) is not None
            before(harness.query.driver._opened.commits, "add", older_commits, monkeypatch)
            # Embedded topics belong to one machine, and have lost the older driver's staged
            # results.
            for driver in (harness.query.driver, older.driver):
                monkeypatch.setattr(driver, "_publish", lambda _: None)

    def older_commits() -> None:
        """Let the older driver commit while the newer one is about to."""
        if not hung:
            hung.append(older)
            older.driver._opened.commits.add(done[0])

    done: list[Any] = []
    append = older.driver._opened.commits.add

    def noted(commit: Any) -> Any:
        if done:
            return append(commit)
        done.append(commit)
        newer()
        harness.run_until_committed()
        return append(commit)

    monkeypatch.setattr(older.driver._opened.commits, "add", noted)
    emitted(harness)
    run_until_it_fails(older)
    with pytest.raises(FencedError):
        older.check()
    last = harness.query.driver.last
    assert last is not None
    assert last.batch > number
    assert last.run == "run-1"
    assert line_of(harness)[-1] == last.batch


def test_driver_that_hangs_before_its_claim_takes_over_from_the_newest_commit(
    harness: LoopHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver hangs before it claims a number, which is deleted then."""
    checkpoint, name = harness.checkpoint, harness.query.name
    plans = checkpoint.plans(name)
    write, claimed = type(plans).write, list[int]()

    def late(log: Any, number: int, plan: Plan) -> Plan:
        if plan.takeover == "late" and not claimed:
            for _ in range(5):
                harness.batch()
        if plan.takeover == "late":
            claimed.append(number)
        return write(log, number, plan)

    monkeypatch.setattr(type(plans), "write", late)
    found = take_over(checkpoint, name, harness.log.open(), run="late", publish=lambda _: None)
    assert found.last is not None
    assert len(claimed) == 2
    assert found.last.batch == claimed[1] > claimed[0]
    assert found.last.run == "late"


def test_take_over_completes_the_uncommitted_claim_of_a_killed_driver(harness: LoopHarness) -> None:
    checkpoint, name = harness.checkpoint, harness.query.name
    objects = harness.log.open()
    last = checkpoint.commits(name, objects).last()
    assert last is not None
    claim = Plan({}, last.positions, after=last.id, topics=last.topics, takeover="killed")
    checkpoint.plans(name).write(last.batch + 1, claim)
    found = take_over(checkpoint, name, objects, run="next", publish=lambda _: None)
    assert found.last is not None
    assert found.last.batch == last.batch + 2
    assert found.last.tasks == last.tasks
    assert found.last.loops == last.loops
