"""The assignment of the slots of a query to the connected workers."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ("assigned_slots",)


def assigned_slots(width: int, workers: Sequence[int], before: Sequence[int]) -> tuple[int, ...]:
    """Return the worker of each slot; slots stay where they are, so that tasks find their state.

    No worker gets more than an equal share of the slots, rounded up. So slots move only from a
    worker that has ended, or to workers that connected after the others had taken all slots. Where
    there is a choice, a slot has the worker of the same number, so that the queries of a driver
    have equal assignments.

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
