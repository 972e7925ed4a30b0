"""The speed of a restore from the durable log to this machine."""

from __future__ import annotations

import time

from kstreams.errors import StateCorruptError
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.pointer import Pointer

__all__ = ("MOST_BYTES", "measured_speed")

MOST_BYTES = 64 * 1024 * 1024
"""Maximum size of the task that is restored into memory for the measurement."""


def measured_speed(pointer: Pointer, key: TaskKey, objects: ObjectStore) -> float | None:
    """Restore a task into memory; return the speed in bytes of the durable log per second.

    Args:
        pointer: The version of the task.
        key: Name of the task in the durable log.
        objects: The durable log.

    Returns:
        Bytes per second; None if a running app deleted the version meanwhile.
    """
    store = MemoryStore(pointer.stores)
    begun = time.perf_counter()
    try:
        DurableLog(objects, key).restore(pointer, store)
    except StateCorruptError:
        return None
    seconds = time.perf_counter() - begun
    store.close()
    return (pointer.snapshot_bytes + pointer.delta_bytes) / max(seconds, 1e-6)
