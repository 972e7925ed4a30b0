"""The assignment of a query's slots to workers. A slot is a share of a stage's tasks."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ("assigned_slots",)


def assigned_slots(width: int, workers: Sequence[int], before: Sequence[int]) -> tuple[int, ...]:
    """Return the worker of each slot.

    A slot keeps its worker if possible, because the worker has the state of the slot's tasks on its
    disk. No worker gets more than an equal share of the slots, rounded up. So slots move only from
    workers that have ended, or to workers that have connected since. Other slots get the worker of
    the same number if possible, so that the queries of a driver have equal assignments.

    Args:
        width: The number of slots.
        workers: The numbers of the connected workers; at least one.
        before: The worker of each slot in the last batch; empty before the first batch.
    """
    left = dict.fromkeys(workers, -(-width // len(workers)))
    wanted = before or range(width)
    found: dict[int, int] = {}

    def take(slot: int, worker: int) -> None:
        if slot not in found and left.get(worker, 0) > 0:
            found[slot] = worker
            left[worker] -= 1

    for slot in sorted(range(width), key=lambda slot: wanted[slot] != slot):
        take(slot, wanted[slot])
    for slot in range(width):
        take(slot, slot)
        take(slot, max(left, key=lambda number: left[number]))
    return tuple(found[slot] for slot in range(width))
