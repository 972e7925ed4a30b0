"""Plans of the driver over embedded topics: exact bounds, proportional shares, start offsets."""

from __future__ import annotations

import shutil
from datetime import datetime, timezone
from pathlib import Path

import pytest

from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.connection import TopicEnds
from kstreams.embedded.log import EmbeddedLog
from kstreams.errors import DataLossError
from kstreams.graph.nodes import Start
from kstreams.ids import TopicPartition, text_keys
from kstreams.state.log.directory import DirectoryObjectStore
from tests.kstreams.batch.embedded_planner import (
    append,
    groups_of,
    new_log,
    planner_of,
    planner_on,
    read_by,
)


def test_each_offset_is_planned_once_in_order(tmp_path: Path) -> None:
    log = new_log(tmp_path, "a")
    for _ in range(3):
        append(log, "a", 0, *range(7))
        append(log, "a", 1, 1)
    planner = planner_on(log, groups_of("a"), most=4)
    seen: dict[int, list[int]] = {0: [], 1: []}
    while (plan := planner.next()) is not None:
        assert plan.record_count <= 4
        for task, _, partition, low, high in read_by(plan):
            assert task == partition
            assert low < high
            seen[partition] += range(low, high)
        assert plan.positions == planner.positions
    assert seen == {0: list(range(21)), 1: list(range(3))}


def test_planner_requests_topic_ends_only_if_known_ends_do_not_fill_batch(tmp_path: Path) -> None:
    log = new_log(tmp_path, "a", partitions=1)
    append(log, "a", 0, *range(100))
    planner = planner_on(log, groups_of("a"), most=30)
    asked: list[str] = []
    ask = planner._known_ends

    def noted(topic: str) -> TopicEnds:
        asked.append(topic)
        return ask(topic)

    planner._known_ends = noted
    for _ in range(3):
        planner.next()
    assert asked == ["a"]
    append(log, "a", 0, *range(5))
    assert read_by(planner.next()) == [(0, "a", 0, 90, 100), (0, "a", 0, 100, 105)]
    assert planner.next() is None
    assert asked == ["a"] * 3


def test_planner_splits_segment_larger_than_batch(tmp_path: Path) -> None:
    log = new_log(tmp_path, "a", partitions=1)
    append(log, "a", 0, *range(5))
    append(log, "a", 0, *range(5))
    planner = planner_on(log, groups_of("a"), most=3)
    assert read_by(planner.next()) == [(0, "a", 0, 0, 3)]
    assert read_by(planner.next()) == [(0, "a", 0, 3, 5), (0, "a", 0, 5, 6)]
    assert read_by(planner.next()) == [(0, "a", 0, 6, 9)]
    assert read_by(planner.next()) == [(0, "a", 0, 9, 10)]
    assert planner.next() is None


def test_planning_continues_at_given_positions(tmp_path: Path) -> None:
    log = new_log(tmp_path, "a")
    append(log, "a", 0, *range(5))
    append(log, "a", 1, *range(5))
    assert read_by(planner_on(log, groups_of("a"), a__0=4).next()) == [
        (0, "a", 0, 4, 5),
        (1, "a", 1, 0, 5),
    ]


def test_plan_ends_exactly_at_given_end_positions(tmp_path: Path) -> None:
    log = new_log(tmp_path, "a", partitions=1)
    append(log, "a", 0, *range(5))
    planner = planner_on(log, groups_of("a"))
    end = planner.end()
    append(log, "a", 0, *range(5))
    assert read_by(planner.next(until=end)) == [(0, "a", 0, 0, 5)]
    assert planner.next(until=end) is None
    assert planner.reached(end)
    assert not planner.reached(planner.end())


@pytest.mark.parametrize(
    ("start", "first"),
    [
        ("earliest", 0),
        ("latest", 6),
        (datetime.fromtimestamp(3, timezone.utc), 3),
        (datetime.fromtimestamp(0, timezone.utc), 0),
        (datetime.fromtimestamp(99, timezone.utc), 6),
    ],
    ids=["earliest", "latest", "time", "time before all", "time after all"],
)
def test_source_begins_at_its_configured_start(tmp_path: Path, start: Start, first: int) -> None:
    log = new_log(tmp_path, "a", partitions=1)
    append(log, "a", 0, *(n * 1_000 for n in range(4)))
    append(log, "a", 0, 4_000, 5_000)
    planner = planner_on(log, groups_of("a", start=start))
    assert planner.positions == {TopicPartition("a", 0): first}
    kept = planner_on(log, groups_of("a", start=start), a__0=2)
    assert kept.positions == {TopicPartition("a", 0): 2}


def test_restarted_query_keeps_its_first_start_positions(tmp_path: Path) -> None:
    log, plans = (
        new_log(tmp_path / "topics", "a", partitions=2),
        PlanLog(DirectoryObjectStore(tmp_path / "plans")),
    )
    append(log, "a", 0, *range(5))
    first = planner_of(log, groups_of("a", start="latest"), plans)
    append(log, "a", 0, *range(5))
    again = planner_of(log, groups_of("a", start="latest"), plans)
    assert text_keys(first.positions) == text_keys(again.positions) == {"a/0": 5, "a/1": 0}
    plan = again.next()
    assert plan is not None
    plans.write(0, plan)
    later = planner_of(log, groups_of("a", start="latest"), plans, **{"a/0": 1})
    assert later.positions == {TopicPartition("a", 0): 10, TopicPartition("a", 1): 0}


def test_planner_ignores_positions_of_other_sources(tmp_path: Path) -> None:
    log = new_log(tmp_path, "a", partitions=1)
    append(log, "a", 0, *range(5))
    planner = planner_on(log, groups_of("a"), gone__0=7, a__0=2)
    assert planner.positions == {TopicPartition("a", 0): 2}
    assert read_by(planner.next()) == [(0, "a", 0, 2, 5)]


def test_topics_of_one_group_get_equal_parts_of_batch(tmp_path: Path) -> None:
    log = new_log(tmp_path, "a", "b")
    append(log, "a", 0, *range(100))
    append(log, "b", 1, *range(100))
    assert read_by(planner_on(log, groups_of("a", "b"), most=10).next()) == [
        (0, "a", 0, 0, 5),
        (1, "b", 1, 0, 5),
    ]


def test_removed_segment_raises_data_loss_error(tmp_path: Path) -> None:
    log = new_log(tmp_path, "a", partitions=1)
    for _ in range(3):
        append(log, "a", 0, *range(5))
    middle = log.segments("a", 0)[1].name
    shutil.move(tmp_path / "a" / "0" / middle, tmp_path / "gone")
    with pytest.raises(DataLossError):
        planner_on(EmbeddedLog(tmp_path, durable=False), groups_of("a")).next()
