"""Batches of a backlog grow while they are fast and shrink when they are slow."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.batch.planning.batch_size_control import Pace
from kstreams.ids import TopicPartition
from tests.kstreams.batch.embedded_planner import append, groups_of, new_log, planner_on

FIRST, MOST = 250_000, 1_000_000


def test_size_of_fast_batches_at_most_doubles_up_to_maximum() -> None:
    pace = Pace(MOST)
    sizes = [pace.records]
    for _ in range(4):
        pace.took(pace.records, 0.01)
        sizes.append(pace.records)
    assert sizes == [FIRST, 500_000, MOST, MOST, MOST]


def test_batch_size_converges_to_half_second_per_batch() -> None:
    pace = Pace(MOST)
    for _ in range(10):
        pace.took(pace.records, 0.1 + pace.records / MOST)  # 100 ms fixed cost of a batch
    assert pace.records == pytest.approx(400_000, rel=0.01)


def test_batch_without_backlog_does_not_change_batch_size() -> None:
    pace = Pace(MOST)
    pace.took(FIRST, 0.25)
    grown = pace.records
    for records in (0, 1, 10_000):
        pace.took(records, 0.06)
        pace.took(records, 3.0)
    assert pace.records == grown == 2 * FIRST


def test_slow_batches_do_not_shrink_below_initial_size() -> None:
    pace = Pace(MOST)
    pace.took(FIRST, 0.25)
    pace.took(2 * FIRST, 60.0)
    pace.took(FIRST, 60.0)
    assert pace.records == FIRST


@given(
    most=st.integers(1, 2 * MOST),
    batches=st.lists(st.tuples(st.integers(0, 2 * MOST), st.floats(0, 100)), max_size=20),
)
def test_batch_size_stays_within_bounds(most: int, batches: list[tuple[int, float]]) -> None:
    pace = Pace(most)
    for records, seconds in batches:
        pace.took(records, seconds)
        assert min(FIRST, most) <= pace.records <= most


def test_planner_plans_more_records_after_fast_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kstreams.batch.planning.batch_size_control._FIRST", 10)
    log = new_log(tmp_path, "a", partitions=1)
    append(log, "a", 0, *range(100))
    planner = planner_on(log, groups_of("a"), most=15)
    counts = []
    for _ in range(3):
        plan = planner.next()
        assert plan is not None
        counts.append(plan.record_count)
        planner.done([{TopicPartition("a", 0): (plan.record_count, 100)}], {}, 0.01)
    assert counts == [10, 15, 15]
