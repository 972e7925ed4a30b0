"""Plans and commits of one query by two drivers, with a lock and without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams import TEXT, Topic, Topology, TopologyBuilder
from kstreams.batch.commit_pipeline import CommitPipeline
from kstreams.checkpoint.planning.plans import Plan
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import OpenedQuery, open_for_running
from kstreams.checkpoint.storage.home import CheckpointHome
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.errors import DataLossError, FencedError
from kstreams.ids import TopicPartition
from kstreams.state.backend.memory import Memory
from kstreams.state.log.commits import Commit
from kstreams.state.log.directory import Directory

POSITIONS = {TopicPartition("words", 0): 1}
WORDS = Topic("words", key=TEXT, value=TEXT)


def copied() -> Topology:
    builder = TopologyBuilder("copied")
    builder.add_sink("out", Topic("copy", key=TEXT, value=TEXT), builder.add_source("in", WORDS))
    return builder.build()


class Place:
    """A checkpoint, and drivers that open it one after the other."""

    def __init__(self, home: CheckpointHome, state: Path) -> None:
        self._settings = AppSettings("app", home, state=Memory(directory=str(state)))
        self.opened: OpenedQuery

    def driver(self, run: str) -> CommitPipeline:
        """Return the pipeline of another driver."""
        topology = copied()
        tasks = {group.name: 1 for group in topology.groups}
        (self.opened,) = open_for_running(
            self._settings, topology, tasks, run=run, publish=lambda _: None
        )
        return CommitPipeline(self.opened, run)


@pytest.fixture
def locked(tmp_path: Path) -> Place:
    return Place(home_of(tmp_path / "checkpoint"), tmp_path / "state")


@pytest.fixture
def objects(tmp_path: Path) -> Place:
    return Place(home_of(Directory(str(tmp_path / "objects"))), tmp_path / "state")


def commit_of(pipeline: CommitPipeline, batch: int, plan: Plan, run: str) -> Commit:
    last = pipeline.last
    after = None if last is None else last.id
    return Commit(batch, run, 0, {}, positions=POSITIONS, after=after, plan=plan.digest)


def run_batch(pipeline: CommitPipeline, run: str) -> tuple[int, list[str]]:
    """Run a batch; return its number and the calls of the pipeline."""
    batch, calls = pipeline.next_batch, list[str]()
    plan = pipeline.planned(batch) or pipeline.record(batch, after(pipeline))
    commit = commit_of(pipeline, batch, plan, run)
    pipeline.commit(commit, lambda _: calls.append("accept"), lambda: calls.append("plan next"))
    return batch, calls


def after(pipeline: CommitPipeline) -> Plan:
    return Plan({}, POSITIONS, after=None if pipeline.last is None else pipeline.last.id)


def test_commit_with_lock_is_accepted_and_plans_no_batch_ahead(
    locked: Place,
) -> None:
    pipeline = locked.driver("one")
    assert run_batch(pipeline, "one") == (0, ["accept"])
    assert pipeline.last == locked.opened.commits.at(0)
    assert (pipeline.next_batch, pipeline.planned(1)) == (1, None)


def test_commit_without_lock_is_accepted_and_plans_next_batch_ahead(objects: Place) -> None:
    pipeline = objects.driver("one")
    first = pipeline.next_batch
    assert run_batch(pipeline, "one") == (first, ["accept", "plan next"])
    assert pipeline.last == objects.opened.commits.at(first)


def test_new_driver_finds_plan_that_dead_driver_wrote_to_plan_log(locked: Place) -> None:
    plan = locked.driver("one").record(0, Plan({}, POSITIONS, wall_ms=7))
    pipeline = locked.driver("two")
    assert (pipeline.next_batch, pipeline.planned(0)) == (0, plan)


def test_error_of_planning_ahead_is_raised_when_next_batch_begins(
    objects: Place,
) -> None:
    pipeline = objects.driver("one")
    batch = pipeline.next_batch
    plan = pipeline.record(batch, after(pipeline))

    def fail() -> None:
        raise DataLossError("records are gone")

    commit = commit_of(pipeline, batch, plan, "one")
    assert pipeline.commit(commit, lambda _: None, fail) is not None
    with pytest.raises(DataLossError, match="records are gone"):
        pipeline.planned(batch + 1)


def test_commit_of_batch_that_a_newer_driver_planned_is_fenced(objects: Place) -> None:
    older = objects.driver("one")
    objects.driver("two")
    with pytest.raises(FencedError):
        older.record(older.next_batch, after(older))


def test_commit_of_inherited_batch_that_older_driver_committed_is_adopted(objects: Place) -> None:
    older = objects.driver("one")
    batch = older.next_batch
    plan = older.record(batch, after(older))
    newer = objects.driver("two")
    assert (newer.next_batch, newer.planned(batch)) == (batch, plan)
    done = older.commit(commit_of(older, batch, plan, "one"), lambda _: None, lambda: None)
    assert newer.commit(commit_of(newer, batch, plan, "two"), lambda _: None, lambda: None) is None
    commit, position = newer.adopt(batch, lambda _: None)
    assert commit == done
    assert newer.last == position.last
    assert position.last is not None
    assert (position.last.batch, newer.next_batch) == (batch + 1, batch + 2)


def test_failure_of_batch_that_another_driver_committed_is_fenced_error(objects: Place) -> None:
    older = objects.driver("one")
    batch = older.next_batch
    plan = older.record(batch, after(older))
    newer = objects.driver("two")
    older.commit(commit_of(older, batch, plan, "one"), lambda _: None, lambda: None)
    error = OSError("gone")
    assert isinstance(newer.failure(batch, error), FencedError)
    assert newer.failure(batch + 1, error) is error


def test_new_driver_keeps_only_plans_after_last_batch_of_its_predecessor(objects: Place) -> None:
    older = objects.driver("one")
    batch = older.next_batch
    older.record(batch, after(older))
    newer = objects.driver("two")
    kept = newer.kept
    run_batch(newer, "two")
    assert newer.kept == kept
    run_batch(newer, "two")
    assert newer.kept == (*kept, batch + 1)
    run_batch(newer, "two")
    assert newer.kept == (*kept, batch + 1)
