"""The plan of a benchmark: workloads, peers, their order and their numbers of records."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.suite.figures import WARM_UP
from benchmarks.suite.goals import goal_plan
from benchmarks.suite.plan import BATCHES, MOST_BATCH, Plan, batch_of, ordered
from benchmarks.suite.registry import UnknownName, peer_by, workload_by


def test_order_of_peers_is_rotated_by_one_in_each_round() -> None:
    assert [ordered("abc", number) for number in range(4)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
        ["a", "b", "c"],
    ]
    assert ordered([], 3) == []


def test_batch_size_gives_at_least_ten_batches_a_run_up_to_a_maximum_size() -> None:
    assert batch_of(12_000_000) == MOST_BATCH
    for records in (1_000_000, 300_000, 50_000):
        assert records / batch_of(records) >= BATCHES
    assert batch_of(1) == 1


def test_plan_gives_slow_peers_fewer_records() -> None:
    plan = Plan([])
    assert plan.records_of(workload_by("W1"), peer_by("kstreams")) == 5_000_000
    assert plan.records_of(workload_by("W1"), peer_by("quix")) == 1_200_000
    assert plan.records_of(workload_by("W1"), peer_by("faust")) == 100_000
    few = Plan([], records=20_000)
    assert few.records_of(workload_by("W1"), peer_by("faust")) == 20_000


def test_goal_plan_pairs_each_workload_with_peers_that_support_it_and_enough_records() -> None:
    plan = goal_plan()
    assert (plan.minutes, plan.rounds, plan.lag) == (60, 3, True)
    assert [workload.name for workload in plan.workloads] == [
        *("W1", "W2", "W3", "W4", "Q1", "Q2", "Q5", "Q7", "Q11", "Q12"),
    ]
    assert all(peer.refusal(workload) is None for workload, peer in plan.pairs)
    for workload, peer in plan.pairs:
        slow = workload.name in ("W3", "W4") and peer.name != "kstreams"
        assert slow or plan.records_of(workload, peer) * (1 - WARM_UP) > 2_000_000


def test_goal_plan_of_selected_workloads_and_peers_keeps_numbers_of_records() -> None:
    few = goal_plan(["W3", "W4"], ["flink-sql"])
    assert [(w.name, p.name, few.records_of(w, p)) for w, p in few.pairs] == [
        ("W3", "flink-sql", 1_200_000),
        ("W4", "flink-sql", 1_200_000),
    ]
    assert not few.lag
    with pytest.raises(UnknownName, match="goals exist for the workloads W1 W2"):
        goal_plan(["W7"])


def test_workload_with_another_number_of_keys_has_separate_data_and_label() -> None:
    few = workload_by("W1").of_keys(10)
    assert few.label == "W1-10-keys"
    assert few.dataset.topic(5) != workload_by("W1").dataset.topic(5)
    assert len(few.dataset.records(500).column("key").unique()) == 10
    with pytest.raises(ValueError, match="not about clicks"):
        workload_by("Q5").of_keys(10)


def test_workload_with_another_skew_has_separate_data_and_label() -> None:
    even = workload_by("W1").of_keys(10).of_skew(0)
    assert even.label == "W1-10-keys-zipf-0"
    assert even.dataset.topic(5) != workload_by("W1").of_keys(10).dataset.topic(5)
    shares = Counter(even.dataset.records(5_000).column("key").to_pylist())
    assert max(shares.values()) < 2 * min(shares.values())
    skewed = Counter(workload_by("W1").of_skew(2).dataset.records(5_000).column("key").to_pylist())
    assert skewed[b"user-1"] > 2_500
    assert workload_by("W1").of_partitions(2).of_skew(2).label == "W1-zipf-2-2-partitions"
    with pytest.raises(ValueError, match="not about clicks"):
        workload_by("W5").of_skew(0)


def test_workload_with_another_number_of_partitions_has_separate_data_and_label() -> None:
    spread = workload_by("W1").of_partitions(16)
    assert spread.label == "W1-16-partitions"
    assert spread.dataset.topic(5) != workload_by("W1").dataset.topic(5)
    rows = spread.dataset.topic_rows(spread.dataset.records(500))
    assert set(rows.column("partition").to_pylist()) == set(range(16))
    assert workload_by("W1").of_keys(9).of_partitions(2).label == "W1-9-keys-2-partitions"
    assert workload_by("W1").of_partitions(4) == workload_by("W1")


def test_plan_lists_each_workload_and_peer_once() -> None:
    one, other = workload_by("W1"), workload_by("W2")
    ours, spark = peer_by("kstreams"), peer_by("spark")
    plan = Plan([(one, ours), (one, spark), (other, ours)])
    assert plan.workloads == [one, other]
    assert plan.peers == [ours, spark]


def test_quick_plan_is_one_round_of_few_records_unless_overridden() -> None:
    full = Plan([])
    assert full.asked(quick=False) == full
    quick = full.asked(quick=True)
    assert (quick.records, quick.rounds, quick.minutes, quick.lag) == (50_000, 1, 15, False)
    more = full.asked(quick=True, records=7, rounds=2, minutes=0.5)
    assert (more.records, more.rounds, more.minutes, more.lag) == (7, 2, 0.5, False)
    assert full.asked(quick=False, rounds=5).rounds == 5
    assert not full.asked(quick=False, lag=False).lag
