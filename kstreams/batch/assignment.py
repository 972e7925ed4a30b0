"""Which of a stage's Spark partitions runs which task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heapreplace

__all__ = ("TaskAssignment",)

_TASK = 5_000
"""As many records take about as long as a task by itself."""
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
        best = self._even(loads)
        now, then = self._fullest(loads, self._homes), self._fullest(loads, best)
        if now - then > max(_WORTH_MOVING, then // 4):
            self._homes = best
        return self._homes

    def _even(self, loads: Mapping[int, int]) -> list[int]:
        """Give the largest first, each to where least is; those without records stay."""
        homes = list(self._homes)
        partitions = [(0, partition) for partition in range(self._width)]
        heapify(partitions)
        for task in sorted(loads, key=lambda task: (-loads[task], task)):
            load, homes[task] = partitions[0]
            heapreplace(partitions, (load + _TASK + loads[task], homes[task]))
        return homes

    def _fullest(self, loads: Mapping[int, int], homes: Sequence[int]) -> int:
        """Return how many records the partition has that has most, a task being some itself."""
        sums = [0] * self._width
        for task, load in loads.items():
            sums[homes[task]] += _TASK + load
        return max(sums)
