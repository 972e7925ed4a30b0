"""Access to stores as tables: one value per key, with the time of its row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from kstreams._types import K, V

__all__ = ("Replaced", "Row", "TableAccess", "TableReader", "VersionedReader")

Row = tuple[Any, int]
"""A value and its time (ms since the Unix epoch)."""


class Replaced(NamedTuple):
    """The effect of a put on a table.

    Attributes:
        old: The current value before the put; None without one.
        latest: Whether the new row is the current row.
    """

    old: Any
    latest: bool = True


@dataclass(frozen=True)
class TableAccess:
    """The engine's access to an opened store that is a table.

    Attributes:
        get: Returns the current row of a key, or None.
        get_many: Returns the current rows of many keys, in the order of the keys.
        put: Sets the value of a key from a time (ms) on; None deletes the key. Returns a
            `Replaced`, or None if nothing was put because the time is older than the retention.
        scan: Yields keys and current rows with `start <= key < end`; None is unbounded.
        get_as_of: Returns the row of a key at a time (ms); None for a store without a history.
        horizon: Returns the earliest time (ms) from which the store still has all versions; None
            for a store without a history.
    """

    get: Callable[[Any], Row | None]
    get_many: Callable[[Sequence[Any]], list[Row | None]]
    put: Callable[[Any, Any, int], Replaced | None]
    scan: Callable[[Any, Any], Iterator[tuple[Any, Row]]]
    get_as_of: Callable[[Any, int], Row | None] | None = None
    horizon: Callable[[], int] | None = None


class TableReader(Protocol[K, V]):
    """The read-only access of a processor to a table; see `context.reader`."""

    def get(self, key: K) -> V | None:
        """Return the value of a key, or None."""
        ...

    def get_many(self, keys: Sequence[K]) -> list[V | None]:
        """Return the results of `get` for many keys, in the order of the keys."""
        ...

    def range(self, start: K | None = None, end: K | None = None) -> Iterator[tuple[K, V]]:
        """Yield keys with `start <= key < end` and values, in key order; None is unbounded."""
        ...


class VersionedReader(TableReader[K, V], Protocol[K, V]):
    """The read-only access of a processor to a versioned table."""

    def get_as_of(self, key: K, time_ms: int) -> V | None:
        """Return the value of a key at a time (ms since the Unix epoch), or None."""
        ...
