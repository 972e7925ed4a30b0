"""Slots stay on their workers, and no worker has more than its share."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kstreams.workers.slots import assigned_slots

WORKERS = st.lists(st.integers(0, 9), min_size=1, max_size=10, unique=True).map(sorted)


def test_first_batch_assigns_each_slot_to_worker_of_same_number() -> None:
    assert assigned_slots(3, [0, 1, 2, 3], ()) == (0, 1, 2)


def test_slot_stays_on_worker_when_another_worker_with_number_of_slot_connects() -> None:
    assert assigned_slots(1, [1], ()) == (1,)
    assert assigned_slots(1, [0, 1], (1,)) == (1,)


def test_slots_of_an_ended_worker_move_and_return_when_another_worker_connects() -> None:
    without = assigned_slots(4, [0, 2, 3], (0, 1, 2, 3))
    assert without == (0, 0, 2, 3)
    assert sorted(assigned_slots(4, [0, 1, 2, 3], without)) == [0, 1, 2, 3]


def test_slots_return_to_workers_of_same_number_when_these_connect_late() -> None:
    late = assigned_slots(2, [1], ())
    assert late == (1, 1)
    assert assigned_slots(2, [0, 1], late) == (0, 1)


@given(st.integers(1, 12), WORKERS, WORKERS)
def test_assignment_is_balanced_and_moves_no_slot_without_need(
    width: int, first: list[int], second: list[int]
) -> None:
    before = assigned_slots(width, first, ())
    after = assigned_slots(width, second, before)
    for slots, workers in ((before, first), (after, second)):
        assert len(slots) == width
        counts = Counter(slots)
        assert set(counts) <= set(workers)
        assert max(counts.values()) <= -(-width // len(workers))
    assert assigned_slots(width, second, after) == after
    stays = Counter(old for old, new in zip(before, after, strict=True) if old == new)
    share = -(-width // len(second))
    for worker, had in Counter(before).items():
        assert worker not in second or stays[worker] == min(had, share)
