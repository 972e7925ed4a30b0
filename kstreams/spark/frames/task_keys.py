"""Group keys of tasks: numbers that Spark's hash spreads evenly over its shuffle partitions.

Hashed as they are, four tasks would often share one of four partitions, and wait for each other.
The key of a task depends on the number of partitions alone, not on how many tasks there are.
"""

from __future__ import annotations

from functools import cache

__all__ = ("task_keys",)

_MASK = 0xFFFFFFFF
_SEED = 42
_MOST_CANDIDATES = 1_000_000


@cache
def task_keys(tasks: int, partitions: int) -> tuple[int, ...]:
    """Return the group key of each task: task `t` lies in Spark's partition `t % partitions`.

    Args:
        tasks: How many tasks there are.
        partitions: How many shuffle partitions Spark has.
    """
    waiting: dict[int, list[int]] = {}
    for task in reversed(range(tasks)):
        waiting.setdefault(task % partitions, []).append(task)
    keys: dict[int, int] = {}
    for candidate in range(_MOST_CANDIDATES):
        tasks_here = waiting.get(_signed(_murmur3(candidate)) % partitions)
        if tasks_here:
            keys[tasks_here.pop()] = candidate
            if len(keys) == tasks:
                break
    return tuple(keys[task] for task in range(tasks))


def _murmur3(value: int) -> int:
    """Return Spark's hash of an `int` column.

    Source: `org.apache.spark.unsafe.hash.Murmur3_x86_32#hashInt`.
    """
    mixed = _rotated(value * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    found = (_rotated(_SEED ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    found ^= 4  # bytes of the value
    found = (found ^ (found >> 16)) * 0x85EBCA6B & _MASK
    found = (found ^ (found >> 13)) * 0xC2B2AE35 & _MASK
    return found ^ (found >> 16)


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> (32 - by)) & _MASK


def _signed(value: int) -> int:
    return value - (1 << 32) if value & 0x80000000 else value
