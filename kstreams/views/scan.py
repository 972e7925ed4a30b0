"""An iteration over a view, which keeps the view at its version."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import chain
from typing import Generic, TypeVar

from kstreams._types import K
from kstreams.errors import StoreError

__all__ = ("KeyScan", "ViewScan")

T = TypeVar("T")
"""The type of the yielded items."""

_NO_ROW = object()


class ViewScan(Generic[T]):
    """Yields rows; while the iterator is open, the view stays at its version.

    The iterator ends with its last row, with `close`, or when it is garbage collected.

    Args:
        rows: The rows.
        lock: Held for each step, because a working copy serves one thread at a time.
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
        """End the iteration; a second call does nothing."""
        with self._lock:
            if self._rows is not None:
                self._rows = None
                self._ended()

    def __del__(self) -> None:
        self.close()


class KeyScan(ViewScan[T], Generic[K, T]):
    """A `ViewScan` in the order of keys, which can jump to a key.

    Args:
        scan: The iteration from its start, which the `KeyScan` replaces.
        rows_from: Returns the rows of the same range, starting at a key.
    """

    def __init__(self, scan: ViewScan[T], rows_from: Callable[[K], Iterator[T]]) -> None:
        with scan._lock:
            super().__init__(scan._rows or iter(()), scan._lock, scan._ended)
            scan._rows = None  # the view stays at its version until this iteration ends
        self._rows_from = rows_from

    def __iter__(self) -> KeyScan[K, T]:
        return self

    def seek(self, key: K) -> bool:
        """Jump to a key: the next row is the first one at the key or after it.

        With `reverse=True`, the next row is the last one at the key or before it. The iteration
        keeps its range and its version. A jump backward is possible too.

        Returns:
            Whether there is such a row. If not, the iteration has no next row, and stays open for
            another `seek` until `next` is called.

        Raises:
            StoreError: The iteration has ended.
            SerializationError: The store's key serde cannot serialize the key.

        Source: goka's `Iterator.Seek`.
        """
        with self._lock:
            if self._rows is None:
                raise StoreError(
                    "cannot seek: the iteration has ended", hint="begin another with view.range()."
                )
            rows = self._rows_from(key)
            first = next(rows, _NO_ROW)
            self._rows = iter(()) if first is _NO_ROW else chain((first,), rows)  # type: ignore[arg-type]  # a row: not the mark
            return first is not _NO_ROW
