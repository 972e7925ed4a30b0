"""Keys for Spark's grouping, chosen so that tasks spread evenly over shuffle partitions.

Spark sends a group to the partition `pmod(murmur3(key, 42), partitions)`. Small integers
collide (0, 1 and 3 of 4 fall into one), so each task takes the least integer that falls
where it shall.
"""

from __future__ import annotations

__all__ = ("spark_partition", "task_keys")

_MASK = 0xFFFFFFFF
_SEED = 42


def spark_partition(key: int, partitions: int) -> int:
    """Return the shuffle partition of an int key, as `HashPartitioning` computes it."""
    hashed = _murmur3_int(key & _MASK, _SEED)
    signed = hashed - (1 << 32) if hashed & 0x80000000 else hashed
    return signed % partitions


def task_keys(tasks: int, partitions: int) -> tuple[int, ...]:
    """Return a distinct key for each task; task `t` falls into partition `t % partitions`."""
    waiting: dict[int, list[int]] = {}
    for task in range(tasks):
        waiting.setdefault(task % partitions, []).append(task)
    keys: dict[int, int] = {}
    candidate = 0
    while len(keys) < tasks:
        queue = waiting.get(spark_partition(candidate, partitions))
        if queue:
            keys[queue.pop(0)] = candidate
        candidate += 1
    return tuple(keys[task] for task in range(tasks))


def _rotate(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & _MASK


def _murmur3_int(value: int, seed: int) -> int:
    mixed = (value * 0xCC9E2D51) & _MASK
    mixed = (_rotate(mixed, 15) * 0x1B873593) & _MASK
    hashed = (_rotate(seed ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    hashed ^= 4
    hashed = ((hashed ^ (hashed >> 16)) * 0x85EBCA6B) & _MASK
    hashed = ((hashed ^ (hashed >> 13)) * 0xC2B2AE35) & _MASK
    return hashed ^ (hashed >> 16)
