"""An iteration over a view, which keeps the view at its version."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

__all__ = ("ViewScan",)

T = TypeVar("T")
"""Type of what is yielded."""


class ViewScan(Generic[T]):
    """Yields rows; as long as it is open, its view stays where it is.

    It ends with its last row, with `close`, or when nothing refers to it any more.

    Args:
        rows: The rows.
        lock: Held for each step: a working copy is for one thread at a time.
        ended: Called once, at the end.
    """

    def __init__(
        self, rows: Iterator[T], lock: AbstractContextManager[bool], ended: Callable[[], object]
    ) -> None:
        self._rows: Iterator[T] | None = rows
        self._lock = lock
        self._ended = ended

    def __iter__(self) -> ViewScan[T]:
        return self

    def __next__(self) -> T:
        with self._lock:
            if self._rows is None:
                raise StopIteration
            try:
                return next(self._rows)
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """End it; a second call does nothing."""
        with self._lock:
            if self._rows is not None:
                self._rows = None
                self._ended()

    def __del__(self) -> None:
        self.close()
