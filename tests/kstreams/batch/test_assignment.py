"""Tasks are spread evenly by load, and move only if that saves enough."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kstreams.batch.assignment import TaskAssignment

TASK = 5_000
"""Fixed cost of a task, in records."""


def fullest(loads: dict[int, int], homes: list[int], width: int) -> int:
    costs = [TASK + loads.get(task, 0) for task in range(len(homes))]
    return max(
        sum(n for n, home in zip(costs, homes, strict=True) if home == w) for w in range(width)
    )


def test_small_tasks_are_spread_evenly_by_number_of_tasks() -> None:
    spread = TaskAssignment(4, 2)
    spread.over({0: 90_000, 1: 20_000, 2: 20_000, 3: 20_000})
    homes = list(spread.over({0: 900, 1: 200, 2: 200, 3: 200}))
    assert [homes.count(worker) for worker in (0, 1)] == [2, 2]


def test_large_task_is_alone_on_its_worker() -> None:
    homes = TaskAssignment(4, 2).over({0: 440_000, 1: 120_000, 2: 150_000, 3: 190_000})
    assert len(set(homes[1:])) == 1
    assert homes[0] != homes[1]


def test_tasks_move_only_if_load_becomes_more_even() -> None:
    spread = TaskAssignment(4, 2)
    assert list(spread.over({})) == [0, 1, 0, 1]
    assert list(spread.over({0: 1_000, 2: 1_000})) == [0, 1, 0, 1]
    assert list(spread.over({0: 20_000, 1: 18_000, 2: 20_000, 3: 18_000})) == [0, 1, 0, 1]
    moved = list(spread.over({0: 20_000, 2: 20_000}))
    assert moved[0] != moved[2]
    assert list(spread.over({0: 100, 1: 90})) == moved


@given(
    batches=st.lists(
        st.dictionaries(st.integers(0, 9), st.integers(0, 100_000), max_size=10), max_size=5
    ),
    width=st.integers(1, 5),
)
def test_largest_load_of_a_worker_is_within_bound_of_optimum(
    batches: list[dict[int, int]], width: int
) -> None:
    spread = TaskAssignment(10, width)
    for loads in batches:
        homes = list(spread.over(loads))
        assert len(homes) == 10
        assert set(homes) <= set(range(width))
        least = max(TASK * 10 / width + sum(loads.values()) / width, max(loads.values(), default=0))
        bound = least * 4 / 3  # bound of longest-processing-time-first scheduling
        assert fullest(loads, homes, width) <= max(bound * 5 / 4, bound + 2_000)
