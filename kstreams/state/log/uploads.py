"""Uploads of objects to the durable log while a worker runs its next task."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Protocol

__all__ = ("ObjectUpload", "Upload")

_PARALLEL = 16
"""The maximum number of parallel writes of a process; storage clients have more connections."""


class Upload(Protocol):
    """The upload of an object."""

    def settle(self) -> None:
        """Wait until the object is durable.

        Raises:
            StoreError: The object cannot be stored.
        """
        ...

    def drop(self) -> None:
        """End the upload of an object that is not needed; a failure is no error."""
        ...


class ObjectUpload:
    """The upload of one object, which begins at once.

    Args:
        put: Stores the object.
    """

    def __init__(self, put: Callable[[], object]) -> None:
        self._done: Future[object] = _pool().submit(put)

    def settle(self) -> None:
        """Wait until the object is durable; see `Upload`."""
        self._done.result()

    def drop(self) -> None:
        """Wait until the upload has ended, in one way or the other."""
        wait([self._done])


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the thread pool that writes the deltas of all tasks of this process."""
    return ThreadPoolExecutor(_PARALLEL, "kstreams-delta")
