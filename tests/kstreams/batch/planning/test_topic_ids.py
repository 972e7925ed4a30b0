"""A topic that was deleted and created again is detected by its id."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams import Embedded
from kstreams.batch.io.embedded.feed import EmbeddedFeed
from kstreams.batch.planning.planner import BatchPlanner
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.errors import TopicRecreatedError
from kstreams.ids import TopicPartition
from kstreams.state.log.directory import DirectoryObjectStore
from tests.kstreams.batch.embedded_planner import (
    append,
    created_again,
    groups_of,
    new_log,
    planner_of,
    planner_on,
    read_by,
)


@pytest.mark.parametrize("length", [0, 3, 50], ids=["empty", "shorter", "longer"])
@pytest.mark.parametrize("partitions", [1, 2])
def test_topic_recreated_while_running_is_rejected_whatever_its_length(
    tmp_path: Path, length: int, partitions: int
) -> None:
    log = new_log(tmp_path, "a", partitions=1)
    append(log, "a", 0, *range(5))
    planner = planner_on(log, groups_of("a"))
    planner.next()
    expected, found = created_again(log, length, partitions)
    with pytest.raises(TopicRecreatedError, match="deleted and created again") as caught:
        planner.next()
    where = caught.value.where
    assert (where.topic, where.partition, where.offset) == ("a", 0, 5)
    assert (caught.value.expected, caught.value.found) == (expected, found)
    assert "kstreams reset" in caught.value.hint
    assert "kstreams state fork" in caught.value.hint


@pytest.mark.parametrize("length", [0, 50], ids=["empty", "longer"])
def test_topic_recreated_while_stopped_is_rejected_at_start(tmp_path: Path, length: int) -> None:
    log = new_log(tmp_path, "a", partitions=1)
    append(log, "a", 0, *range(5))
    plans = PlanLog(DirectoryObjectStore(tmp_path.parent / f"{tmp_path.name}-plans"))
    plan = planner_of(log, groups_of("a"), plans).next()
    assert plan is not None
    plans.write(0, plan)
    created_again(log, length)
    with pytest.raises(TopicRecreatedError):
        planner_of(log, groups_of("a"), plans)


def test_start_positions_of_recreated_topic_are_rejected(tmp_path: Path) -> None:
    log = new_log(tmp_path, "a", partitions=1)
    append(log, "a", 0, *range(5))
    plans = PlanLog(DirectoryObjectStore(tmp_path.parent / f"{tmp_path.name}-plans"))
    planner_of(log, groups_of("a", start="latest"), plans)
    created_again(log, 50)
    with pytest.raises(TopicRecreatedError):
        planner_of(log, groups_of("a", start="latest"), plans)


def test_recreated_topic_is_detected_by_topic_ids_of_commit_without_plan(tmp_path: Path) -> None:
    log = new_log(tmp_path, "a", partitions=1)
    append(log, "a", 0, *range(50))
    feed, plans = (
        EmbeddedFeed(Embedded(tmp_path, durable=False)),
        PlanLog(DirectoryObjectStore(tmp_path / ".p")),
    )
    with pytest.raises(TopicRecreatedError):
        BatchPlanner(
            feed,
            groups_of("a"),
            max_records=9,
            max_bytes=1 << 28,
            plans=plans,
            positions={TopicPartition("a", 0): 5},
            topics={"a": "another"},
        )


def test_plan_stores_present_topic_id_if_its_start_positions_have_none(tmp_path: Path) -> None:
    log = new_log(tmp_path, "a", partitions=1)
    append(log, "a", 0, *range(50))
    planner = planner_on(log, groups_of("a"), a__0=5)
    plan = planner.next()
    assert plan is not None
    assert plan.topics == {"a": log.topic("a").topic_id}


def test_topic_recreated_before_first_read_is_accepted(tmp_path: Path) -> None:
    log = new_log(tmp_path, "a", partitions=1)
    planner = planner_on(log, groups_of("a"))
    assert planner.next() is None
    created_again(log, 3)
    assert read_by(planner.next()) == [(0, "a", 0, 0, 3)]


def test_planning_of_long_backlog_rechecks_topic_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = new_log(tmp_path, "a", partitions=1)
    append(log, "a", 0, *range(50))
    planner = planner_on(log, groups_of("a"), most=5)
    planner.next()
    created_again(log, 60)
    assert read_by(planner.next()) == [(0, "a", 0, 5, 10)]
    monkeypatch.setattr("kstreams.batch.planning.planner._ASK_AGAIN_S", 0.0)
    with pytest.raises(TopicRecreatedError):
        planner.next()
