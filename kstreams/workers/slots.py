"""The assignment of the slots of a query to the connected workers."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ("assigned_slots",)


def assigned_slots(width: int, workers: Sequence[int], before: Sequence[int]) -> tuple[int, ...]:
    """Return the worker of each slot; slots stay where they are, so that tasks find their state.

    No worker gets more than an equal share of the slots, rounded up. So slots move only from a
    worker that has ended, or to workers that connected after the others had taken all slots.

    Args:
        width: The number of slots.
        workers: The numbers of the connected workers; at least one.
        before: The worker of each slot in the last batch; empty before the first batch, in which
            each slot has the worker of the same number, if that worker is connected.
    """
    share = -(-width // len(workers))
    left = dict.fromkeys(workers, share)
    wanted = before or range(width)
    slots: list[int | None] = []
    for worker in wanted:
        stays = left.get(worker, 0) > 0
        slots.append(worker if stays else None)
        if stays:
            left[worker] -= 1
    return tuple(_freest(left) if worker is None else worker for worker in slots)


def _freest(left: dict[int, int]) -> int:
    """Return the worker with the most free slots, and take one of them."""
    found = max(left, key=lambda number: left[number])
    left[found] -= 1
    return found
