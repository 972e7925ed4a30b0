"""The assignment of a stage's tasks to slots: a worker, or a Spark partition, runs one slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heapreplace

__all__ = ("TaskAssignment",)

_TASK = 5_000
"""The fixed cost of a task, as the number of records whose processing takes equally long."""
_WORTH_MOVING = 2_000
"""The minimum gain of a new assignment, in records of the fullest slot. With less gain, tasks stay
with their workers, which have prefetched data for them.
"""


class TaskAssignment:
    """Assigns tasks to slots so that no slot has much more to read than the others.

    Slots run in parallel, and the batch ends with the slowest slot. A task stays in its slot unless
    another assignment is much faster.

    Args:
        tasks: The number of tasks.
        width: The number of slots.
    """

    def __init__(self, tasks: int, width: int) -> None:
        self._width = width
        self._homes = [task % width for task in range(tasks)]

    def over(self, loads: Mapping[int, int]) -> Sequence[int]:
        """Return the slot of each task.

        Args:
            loads: The number of records to read, by task.
        """
        costs = [_TASK + loads.get(task, 0) for task in range(len(self._homes))]
        best = self._even(costs)
        now, then = self._fullest(costs, self._homes), self._fullest(costs, best)
        if now - then > max(_WORTH_MOVING, then // 4):
            self._homes = best
        return self._homes

    def _even(self, costs: Sequence[int]) -> list[int]:
        """Return a slot for each task, so that the slots have similar total costs.

        Tasks are assigned by descending cost, each to the slot with the least total cost.
        """
        homes = list(self._homes)
        slots = [(0, slot) for slot in range(self._width)]
        heapify(slots)
        for task in sorted(range(len(costs)), key=lambda task: (-costs[task], task)):
            cost, homes[task] = slots[0]
            heapreplace(slots, (cost + costs[task], homes[task]))
        return homes

    def _fullest(self, costs: Sequence[int], homes: Sequence[int]) -> int:
        """Return the total cost of the tasks in the slot with the highest total cost.

        Args:
            costs: The cost of each task.
            homes: The slot of each task.
        """
        sums = [0] * self._width
        for task, cost in enumerate(costs):
            sums[homes[task]] += cost
        return max(sums)
