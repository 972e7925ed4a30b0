"""The last small objects that a process has written, so that upkeep need not read them."""

from __future__ import annotations

import threading

from kstreams.state.log.pointer import ObjectRef

__all__ = ("RecentObjects",)

_MOST_BYTES = 16 * 1024 * 1024


class RecentObjects:
    """Objects in memory, up to a total size; above it, the oldest are removed. Thread-safe.

    Args:
        most_bytes: The maximum total size.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._objects: dict[ObjectRef, bytes] = {}
        self._size_bytes = 0

    def add(self, ref: ObjectRef, data: bytes) -> None:
        """Keep an object."""
        with self._lock:
            self._objects[ref] = data
            self._size_bytes += len(data)
            while self._size_bytes > self._most_bytes:
                oldest = next(iter(self._objects))
                self._size_bytes -= len(self._objects.pop(oldest))

    def get(self, ref: ObjectRef) -> bytes | None:
        """Return an object; None if it is not kept."""
        with self._lock:
            return self._objects.get(ref)
