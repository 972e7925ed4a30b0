"""Which of a stage's Spark partitions runs which task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heapreplace

__all__ = ("TaskAssignment",)

_TASK = 5_000
"""What a task takes by itself, in records that take as long."""
_WORTH_MOVING = 2_000
"""How many records less the fullest partition must have for tasks to leave their workers,
which have fetched ahead for them."""


class TaskAssignment:
    """Gives tasks to partitions so that none has much more to read than the others.

    Partitions run side by side, and the batch ends with the last of them. Tasks stay where
    they are while that costs little.

    Args:
        tasks: How many tasks there are.
        width: How many partitions.
    """

    def __init__(self, tasks: int, width: int) -> None:
        self._width = width
        self._homes = [task % width for task in range(tasks)]

    def over(self, loads: Mapping[int, int]) -> Sequence[int]:
        """Return the partition of each task.

        Args:
            loads: By task, how many records it is to read.
        """
        costs = [_TASK + loads.get(task, 0) for task in range(len(self._homes))]
        best = self._even(costs)
        now, then = self._fullest(costs, self._homes), self._fullest(costs, best)
        if now - then > max(_WORTH_MOVING, then // 4):
            self._homes = best
        return self._homes

    def _even(self, costs: Sequence[int]) -> list[int]:
        """Give the dearest first, each to where least is."""
        homes = list(self._homes)
        partitions = [(0, partition) for partition in range(self._width)]
        heapify(partitions)
        for task in sorted(range(len(costs)), key=lambda task: (-costs[task], task)):
            cost, homes[task] = partitions[0]
            heapreplace(partitions, (cost + costs[task], homes[task]))
        return homes

    def _fullest(self, costs: Sequence[int], homes: Sequence[int]) -> int:
        """Return what the tasks of the partition cost that has most."""
        sums = [0] * self._width
        for task, cost in enumerate(costs):
            sums[homes[task]] += cost
        return max(sums)
