"""Batches are bounded by bytes, and a refused batch is cut."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kstreams.batch.messages.oversized_batch import Refusal
from kstreams.batch.planning.batch_size import share
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.ids import TopicPartition
from kstreams.state.log.directory import DirectoryObjectStore
from tests.kstreams.batch.embedded_planner import (
    LAGS,
    append,
    append_sized,
    groups_of,
    new_log,
    planner_of,
    planner_on,
    read_by,
)


@given(lags=LAGS, total=st.integers(1, 2_000))
def test_share_of_partition_is_proportional_to_its_lag_and_at_most_its_available_records(
    lags: dict[str, int], total: int
) -> None:
    shares = share(lags, total)
    assert shares.keys() == lags.keys()
    assert all(1 <= shares[place] <= lags[place] for place in lags)
    behind = sum(lags.values())
    if behind <= total:
        assert shares == lags
        return
    assert total - len(lags) <= sum(shares.values()) <= total + len(lags)
    assert all(abs(shares[place] - lags[place] * total / behind) <= 1 for place in lags)


def test_first_batch_is_bounded_by_record_sizes_of_segments(tmp_path: Path) -> None:
    log = new_log(tmp_path, "a")
    for partition in range(2):
        append_sized(log, "a", partition, *[10_000] * 50)
    planner = planner_on(log, groups_of("a"), max_bytes=205_000)
    assert read_by(planner.next()) == [(0, "a", 0, 0, 10), (1, "a", 1, 0, 10)]


def test_later_batches_are_bounded_by_measured_record_size(tmp_path: Path) -> None:
    log = new_log(tmp_path, "a", partitions=1)
    append_sized(log, "a", 0, *[10] * 100)
    planner = planner_on(log, groups_of("a"), max_bytes=10_000)
    planner.done([{TopicPartition("a", 0): (10, 10_000)}], {}, 1.0)
    assert read_by(planner.next()) == [(0, "a", 0, 0, 10)]


def test_batch_refused_for_size_is_cut_and_next_batch_begins_at_cut(tmp_path: Path) -> None:
    log, plans = (
        new_log(tmp_path / "topics", "a", "b", partitions=2),
        PlanLog(DirectoryObjectStore(tmp_path / "p")),
    )
    for topic in "ab":
        for partition in range(2):
            append(log, topic, partition, *range(40))
            append(log, topic, partition, *range(40))
    planner = planner_of(log, groups_of("a", "b"), plans, most=1_000, max_bytes=10_000)
    plan = planner.next()
    assert plan is not None
    assert plan.record_count == 320
    sizes = {TopicPartition("a", 0): (80, 40_000), TopicPartition("b", 0): (0, 0)}
    cut = planner.cut(plan, [Refusal(((0, 0),), sizes), Refusal(())])
    reached = cut.horizon  # no partition is read beyond the time of the refused ones
    assert reached is not None
    assert 0 < reached <= 20
    assert read_by(cut) == [
        (0, "a", 0, 0, reached),
        (0, "b", 0, 0, reached),
        (1, "a", 1, 0, reached),
        (1, "b", 1, 0, reached),
    ]
    assert cut.cuts == {
        (0, 0): 1,
        (0, 1): 1,
    }  # the output of both tasks differs from the first attempt
    assert set(cut.positions.values()) == {reached}
    assert planner.positions == cut.positions
    plans.write(0, plan)
    plans.replace(0, cut)
    assert planner_of(log, groups_of("a", "b"), plans).positions == cut.positions


def test_refused_batch_is_cut_to_no_fewer_than_one_record(tmp_path: Path) -> None:
    log = new_log(tmp_path, "a", "b", partitions=1)
    append(log, "a", 0, *range(3))
    append(log, "b", 0, *range(3))
    planner = planner_on(log, groups_of("a", "b"), max_bytes=1_000)
    plan, revision = planner.next(), 0
    while plan is not None and plan.record_count > 1:
        sizes = {TopicPartition("a", 0): (1, 5_000_000), TopicPartition("b", 0): (1, 5_000_000)}
        plan = planner.cut(plan, [Refusal(((0, 0),), sizes)])
        revision += 1
        assert plan.revision == revision
    assert plan is not None
    assert plan.record_count == 1
    assert sum(plan.positions.values()) == 1
