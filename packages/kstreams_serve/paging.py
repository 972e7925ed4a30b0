"""Pages of rows, within limits; a next page continues where the previous one ended."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kstreams_serve.problems import Problem
from kstreams_serve.settings import Limits

__all__ = ("Make", "OpenRows", "OpenScans", "Page", "Row", "take_page")

T = TypeVar("T")
"""The result type for a row."""
Row = tuple[Any, ...]
"""A flat row: the key, then the columns of the store kind."""
Make = Callable[[Row], "tuple[T, int]"]
"""Returns the result for a row, and the result's size in bytes."""

_CHECK_EVERY = 64
_OPEN = 16
_OPEN_SECONDS = 30.0


class OpenRows:
    """Rows that are read page by page.

    Args:
        rows: The rows, and None for each skipped row.
        key_bytes: Returns comparable bytes of a row's key.

    Attributes:
        looked: The number of items that were taken from `rows`, including skipped ones.
        last: The bytes of the key of the last row; None before the first.
        same: The number of consecutive rows with the key of the last row.
    """

    def __init__(self, rows: Iterator[Row | None], key_bytes: Callable[[object], bytes]) -> None:
        self._rows = rows
        self._key_bytes = key_bytes
        self._next: list[Row | None] = []
        self.looked = 0
        self.last: bytes | None = None
        self.same = 0

    def is_at_end(self) -> bool:
        """Return whether there are no more items."""
        if not self._next:
            self._next.extend(item for item in (next(self._rows, _END),) if item is not _END)
        return not self._next

    def take(self) -> Row | None:
        """Return the next row, or None for a skipped one; not allowed at the end."""
        row = self._next.pop()
        self.looked += 1
        if row is not None:
            data = self._key_bytes(row[0])
            self.same = self.same + 1 if data == self.last else 1
            self.last = data
        return row


_END: Any = object()


@dataclass(frozen=True)
class Page(Generic[T]):
    """A page of rows.

    Attributes:
        rows: The rows, as converted by a `Make`.
        ended: Whether no rows follow.
    """

    rows: list[T]
    ended: bool


async def take_page(
    rows: OpenRows, skip: int, count: int, limits: Limits, make: Make[T]
) -> Page[T]:
    """Read rows up to a limit of number, bytes or time; let other requests run in between.

    Args:
        rows: The rows.
        skip: The number of rows to skip first.
        count: The maximum number of rows.
        limits: The limits of bytes and times.
        make: Converts rows; see `Make`.

    Raises:
        Problem: There are too many rows to skip.
    """
    loop = asyncio.get_running_loop()
    begun = breath = loop.time()
    until = begun + limits.wait_seconds
    while rows.looked < skip and not rows.is_at_end():
        rows.take()
        if rows.looked % _CHECK_EVERY == 0:
            breath = await _breath(breath, limits)
            if loop.time() > until:
                raise Problem(
                    410,
                    f"the rows of the cursor were not found within {limits.wait_seconds:g} s",
                    hint="start with the first page again, and request the next page sooner.",
                )
    made: list[T] = []
    size = 0
    until = loop.time() + limits.read_seconds
    while not rows.is_at_end():
        late = rows.looked % _CHECK_EVERY == 0 and loop.time() > until
        if len(made) == count or size >= limits.answer_bytes or (late and rows.looked > skip):
            return Page(made, ended=False)
        row = rows.take()
        if row is not None:
            item, item_bytes = make(row)
            made.append(item)
            size += item_bytes
        if rows.looked % _CHECK_EVERY == 0:
            breath = await _breath(breath, limits)
    return Page(made, ended=True)


async def _breath(since: float, limits: Limits) -> float:
    """Let other tasks run after `slice_seconds`; return the start of the current slice, in s."""
    loop = asyncio.get_running_loop()
    if loop.time() - since <= limits.slice_seconds:
        return since
    await asyncio.sleep(0)
    return loop.time()


class OpenScans:
    """Scans that stay open for some time after a page, so that the next page needs no search.

    If a scan is not open any more, its rows are read again up to the same position.
    """

    def __init__(self) -> None:
        self._open: OrderedDict[str, tuple[OpenRows, float]] = OrderedDict()

    def put(self, name: str, rows: OpenRows) -> None:
        """Keep a scan; close the oldest ones if there are too many."""
        self._open[name] = rows, asyncio.get_running_loop().time() + _OPEN_SECONDS
        self._drop()
        while len(self._open) > _OPEN:
            self._open.popitem(last=False)

    def take(self, name: str, looked: int) -> OpenRows | None:
        """Remove and return the scan of this name; None unless it has read `looked` items."""
        self._drop()
        found = self._open.get(name)
        if found is None or found[0].looked != looked:
            return None
        del self._open[name]
        return found[0]

    def _drop(self) -> None:
        now = asyncio.get_running_loop().time()
        for name in [name for name, (_, until) in self._open.items() if until < now]:
            del self._open[name]
