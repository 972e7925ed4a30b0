from __future__ import annotations

import pytest

from benchmarks.suite.plan import BATCHES, MOST_BATCH, Plan, batch_of, ordered
from benchmarks.suite.registry import peer_by, workload_by


def test_each_round_begins_with_another_peer_and_keeps_their_order() -> None:
    assert [ordered("abc", number) for number in range(4)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
        ["a", "b", "c"],
    ]
    assert ordered([], 3) == []


def test_run_has_ten_batches_after_the_first() -> None:
    assert batch_of(1_000_000) == MOST_BATCH
    for records in (1_000_000, 300_000, 50_000):
        assert records / batch_of(records) >= BATCHES
    assert batch_of(1) == 1


def test_slow_peers_run_fewer_records() -> None:
    plan = Plan([workload_by("W1")], [])
    assert plan.records_of(workload_by("W1"), peer_by("kstreams")) == 1_000_000
    assert plan.records_of(workload_by("W1"), peer_by("quix")) == 300_000
    few = Plan([workload_by("W1")], [], records=20_000)
    assert few.records_of(workload_by("W1"), peer_by("quix")) == 20_000


def test_workload_on_another_number_of_keys_has_its_own_data_and_label() -> None:
    few = workload_by("W1").of_keys(10)
    assert few.label == "W1-10-keys"
    assert few.dataset.topic(5) != workload_by("W1").dataset.topic(5)
    assert len(few.dataset.records(500).column("key").unique()) == 10
    with pytest.raises(ValueError, match="not about clicks"):
        workload_by("Q5").of_keys(10)
