"""Plans over embedded topics end at a common time, wait for records to settle, and record both."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest

from kstreams import INT64, TEXT, Topic, TopologyBuilder, key_value_store
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.planning.plans import Plan
from kstreams.embedded.admin import EmbeddedAdmin
from kstreams.embedded.log import EmbeddedLog
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TopicPartition
from kstreams.processors.peek import peek
from kstreams.state.log.directory import DirectoryObjectStore
from kstreams.task.times.holding import Holding
from tests.kstreams.batch.embedded_planner import (
    append,
    groups_of,
    new_log,
    planner_on,
    read_by,
)

STORE = key_value_store("store", key=TEXT, value=INT64)
DAY = 86_400_000
WALL = 20_000 * DAY


def settling(*topics: str, settle: timedelta) -> tuple[PartitionGroup, ...]:
    builder = TopologyBuilder("settling", settle=settle)
    nodes = [builder.add_source(name, Topic(name, TEXT, TEXT)) for name in topics]
    builder.add_processor("look", peek(print), *nodes, stores=[STORE])
    return builder.build().pipelines()[0]


def times_of(log: EmbeddedLog, plan: Plan) -> list[int]:
    """Return the times of a plan's records."""
    found: list[int] = []
    for slices in plan.tasks.values():
        for each in slices:
            for segment in log.segments(each.topic, each.partition):
                if segment.name == each.segment:
                    table = log.read(segment, each.from_offset, each.to_offset)
                    found += table.column("timestamp").to_pylist()
    return found


def test_table_rows_are_planned_before_younger_stream_records(tmp_path: Path) -> None:
    log = new_log(tmp_path, "rows", "records")
    for partition in range(2):
        append(log, "rows", partition, *range(1_000, 1_300))
        for first in range(5_000, 8_000, 500):
            append(log, "records", partition, *range(first, first + 500, 2))
    seen: list[int] = []
    planner = planner_on(log, groups_of("records", "rows"), most=200)
    while (plan := planner.next()) is not None:
        assert plan.record_count <= 200
        times = sorted(times_of(log, plan))
        assert plan.horizon is None or max(times) <= plan.horizon
        assert min(times) >= max(seen, default=0)
        seen += times
        assert plan.positions == planner.positions
        positions = {
            f"{place.topic}__{place.partition}": at for place, at in plan.positions.items()
        }
        planner = planner_on(log, groups_of("records", "rows"), most=200, **positions)
    assert seen == sorted([*range(1_000, 1_300)] * 2 + [*range(5_000, 8_000, 2)] * 2)


def with_an_edge(topic: str) -> tuple[PartitionGroup, ...]:
    builder = TopologyBuilder("edged")
    source = builder.add_source(topic, Topic(topic, TEXT, TEXT))
    moved = builder.repartition("moved", source, key=TEXT, value=TEXT)
    builder.add_processor("look", peek(print), moved, stores=[STORE])
    return builder.build().pipelines()[0]


def test_planner_merges_partitions_of_repartitioned_topic_in_order_of_time(
    tmp_path: Path,
) -> None:
    log = new_log(tmp_path, "bursts")
    append(log, "bursts", 0, *range(300), *range(300, 30_000, 100))  # most of the topic is early
    append(log, "bursts", 1, *range(0, 30_000, 50))
    planner, seen = planner_on(log, with_an_edge("bursts"), most=100), 0
    while (plan := planner.next()) is not None:
        times = times_of(log, plan)
        assert min(times) >= seen
        seen = max(times)
    assert seen == 29_950


def test_planner_without_backlog_requests_no_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = new_log(tmp_path, "a", "b")
    asked: list[int] = []
    monkeypatch.setattr(EmbeddedAdmin, "first_since", lambda *given: asked.append(given[-1]))
    planner = planner_on(log, groups_of("a", "b"))
    for first in range(3):
        append(log, "a", 0, first)
        append(log, "b", 1, first)
        assert read_by(planner.next()) == [
            (0, "a", 0, first, first + 1),
            (1, "b", 1, first, first + 1),
        ]
    assert asked == []


def test_records_younger_than_settle_time_are_planned_once_it_has_passed(tmp_path: Path) -> None:
    log = new_log(tmp_path, "a", "b", partitions=1)
    append(log, "a", 0, WALL - 3_000, WALL - 1_000)
    planner = planner_on(log, settling("a", "b", settle=timedelta(seconds=2)))
    first = planner.next(wall_ms=WALL)
    assert read_by(first) == [(0, "a", 0, 0, 1)]
    assert first is not None
    assert first.horizon == WALL - 2_000
    assert planner.next(wall_ms=WALL + 500) is None
    append(log, "b", 0, WALL - 1_500)  # its producer lags
    assert read_by(planner.next(wall_ms=WALL + 501)) == [(0, "b", 0, 0, 1)]
    assert planner.next(wall_ms=WALL + 1_000) is None
    assert read_by(planner.next(wall_ms=WALL + 1_001)) == [(0, "a", 0, 1, 2)]


def test_planner_requests_time_of_settling_record_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = new_log(tmp_path, "a", "b", partitions=1)
    append(log, "a", 0, WALL)
    asked: list[int] = []
    ask = EmbeddedAdmin.first_since

    def first_since(
        admin: EmbeddedAdmin, places: Iterable[tuple[str, int]], time: int
    ) -> dict[tuple[str, int], tuple[int, int]]:
        asked.append(time)
        return ask(admin, places, time)

    monkeypatch.setattr(EmbeddedAdmin, "first_since", first_since)
    planner = planner_on(log, settling("a", "b", settle=timedelta(seconds=2)))
    for wall in range(WALL, WALL + 100):
        assert planner.next(wall_ms=wall) is None
    assert len(asked) == 1


def test_run_to_end_plans_records_younger_than_settle_time(tmp_path: Path) -> None:
    log = new_log(tmp_path, "a", partitions=1)
    append(log, "a", 0, WALL - 3_000, WALL - 1_000)
    planner = planner_on(log, settling("a", settle=timedelta(seconds=2)))
    end = planner.end()
    assert read_by(planner.next(until=end, wall_ms=WALL)) == [(0, "a", 0, 0, 2)]
    assert planner.reached(end)


def test_record_with_time_in_future_does_not_delay_its_partition(tmp_path: Path) -> None:
    log = new_log(tmp_path, "a", "b", partitions=1)
    append(log, "a", 0, 10, 20, WALL * 3, *range(30, 130))
    append(log, "b", 0, *range(1_000, 1_400))
    planner = planner_on(log, groups_of("a", "b"), most=50)
    read = []
    while (plan := planner.next(wall_ms=WALL)) is not None:
        read.append(plan)
    assert read[0].holding is None  # up to the record with a time in the future
    behind = [plan for plan in read if plan.holding is not None]
    assert behind[0].holding == Holding(frozenset({TopicPartition("a", 0), TopicPartition("b", 0)}))
    assert read_by(behind[0])[0][:4] == (0, "a", 0, 2)
    assert sum(plan.record_count for plan in read) == 503


def test_plan_log_stores_horizon_and_delayed_partitions_of_plan(tmp_path: Path) -> None:
    plans = PlanLog(DirectoryObjectStore(tmp_path / "plans"), log_name="epoch")
    holding = Holding(frozenset({TopicPartition("a", 0), TopicPartition("b", 1)}), 17)
    plan = plans.write(3, Plan({(0, 0): ()}, {}, horizon=-5, holding=holding))
    found = plans.at(3)
    assert (found.horizon, found.holding) == (-5, holding)
    assert found == plan
    bare = plans.write(4, Plan({(0, 0): ()}))
    assert (bare.horizon, bare.holding) == (None, None)
    assert plans.at(4) == bare


def test_plan_delays_records_after_a_record_with_time_in_future_by_settle_time(
    tmp_path: Path,
) -> None:
    log = new_log(tmp_path, "a", "b", partitions=1)
    append(log, "a", 0, WALL * 3)
    planner = planner_on(log, settling("a", "b", settle=timedelta(seconds=2)))
    for number in range(3):
        append(log, "a", 0, WALL - 10_000 + number)
        plan = planner.next(wall_ms=WALL + number)
        assert plan is not None
        assert plan.positions[TopicPartition("a", 0)] == number + 2
        assert plan.holding == Holding(frozenset(), WALL + number - 2_000)
