"""Spark grouping keys of tasks: the number whose Spark hash is the number of the task.

If the keys were the numbers of tasks, four tasks would rarely have four shuffle partitions: tasks
in the same partition run one after another. Spark's hash of a number can be inverted: the key of
task `t` is the number whose hash is `t`, so that the task is in partition `t % width`, whatever the
width.
"""

from __future__ import annotations

from functools import cache

__all__ = ("key_of", "task_of")

_MASK = 0xFFFFFFFF
_SEED = 42
_BYTES = 4
"""The number of bytes of the hashed value; the hash includes this number."""
_FIRST, _SECOND = 0xCC9E2D51, 0x1B873593
_THIRD, _FOURTH = 0x85EBCA6B, 0xC2B2AE35
_ADDED = 0xE6546B64


@cache
def key_of(task: int) -> int:
    """Return the group key of a task, a Spark `int`."""
    found = _shifted_twice(task, 16) * _inverse(_FOURTH) & _MASK
    found = _shifted_twice(found, 13) * _inverse(_THIRD) & _MASK
    found = _shifted_twice(found, 16) ^ _BYTES
    found = (found - _ADDED) * _inverse(5) & _MASK
    mixed = (_rotated(found, 32 - 13) ^ _SEED) * _inverse(_SECOND) & _MASK
    value = _rotated(mixed, 32 - 15) * _inverse(_FIRST) & _MASK
    return value - (1 << 32) if value & 0x80000000 else value


def task_of(key: int) -> int:
    """Return the task of a group key, which is Spark's hash of the key.

    Source: `org.apache.spark.unsafe.hash.Murmur3_x86_32#hashInt`.
    """
    mixed = _rotated((key & _MASK) * _FIRST & _MASK, 15) * _SECOND & _MASK
    found = (_rotated(_SEED ^ mixed, 13) * 5 + _ADDED & _MASK) ^ _BYTES
    found = (found ^ (found >> 16)) * _THIRD & _MASK
    found = (found ^ (found >> 13)) * _FOURTH & _MASK
    return found ^ (found >> 16)


def _shifted_twice(value: int, by: int) -> int:
    """Return the 32-bit number `x` with `x ^ (x >> by) == value`; `by` is at least 11."""
    return value ^ (value >> by) ^ (value >> 2 * by)


def _inverse(factor: int) -> int:
    return pow(factor, -1, 1 << 32)


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> (32 - by)) & _MASK
