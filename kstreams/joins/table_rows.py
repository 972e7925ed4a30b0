"""How rows of a table are read, from its store or by a function of others' rows, and kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from kstreams.joins.change import Change
from kstreams.joins.joiner import Joiner
from kstreams.serde.base import Serde
from kstreams.state.stores.spec import S, StoreSpec
from kstreams.state.stores.table_access import Row

__all__ = (
    "DerivedRows",
    "JoinedRows",
    "RowOf",
    "StoreContext",
    "StoredRows",
    "TableRows",
    "keeping",
)

RowOf = Callable[[Any], "Row | None"]
"""Returns the value of a key and its time (ms since the epoch), or None."""


class StoreContext(Protocol):
    """What hands out the live stores of a task."""

    def store(self, spec: StoreSpec[S]) -> S:
        """Return a live store."""
        ...


class TableRows(Protocol):
    """How a table is read; a definition, which goes to workers."""

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the stores that are read."""
        ...

    @property
    def key(self) -> Serde[Any]:
        """Return the serde of the table's keys."""
        ...

    def open(self, context: StoreContext) -> RowOf:
        """Return what reads a task's part of the table."""
        ...


@dataclass(frozen=True)
class StoredRows:
    """The rows of a store."""

    store: StoreSpec[Any]

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the store."""
        return (self.store,)

    @property
    def key(self) -> Serde[Any]:
        """Return the serde of the store's keys."""
        return self.store.key

    def open(self, context: StoreContext) -> RowOf:
        """Return what reads the store."""
        return self.store.kind.table(self.store, context.store(self.store)).get


@dataclass(frozen=True)
class DerivedRows:
    """The rows of another table, by a function of key and value; None is no row."""

    table: TableRows
    function: Callable[[Any, Any], Any]

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the other table's stores."""
        return self.table.stores

    @property
    def key(self) -> Serde[Any]:
        """Return the serde of the other table's keys."""
        return self.table.key

    def open(self, context: StoreContext) -> RowOf:
        """Return what reads the other table and calls the function."""
        row_of, function = self.table.open(context), self.function

        def derived(key: object) -> Row | None:
            row = row_of(key)
            if row is None:
                return None
            value = function(key, row[0])
            return None if value is None else (value, row[1])

        return derived


@dataclass(frozen=True)
class JoinedRows:
    """The rows that two tables make together; the time is the later one of both."""

    left: TableRows
    right: TableRows
    joiner: Joiner[Any, Any, Any, Any]

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the stores of both tables."""
        return tuple(dict.fromkeys((*self.left.stores, *self.right.stores)))

    @property
    def key(self) -> Serde[Any]:
        """Return the serde of the left table's keys."""
        return self.left.key

    def open(self, context: StoreContext) -> RowOf:
        """Return what reads both tables and joins."""
        left_of, right_of = self.left.open(context), self.right.open(context)
        row = self.joiner.row

        def joined(key: object) -> Row | None:
            one, two = left_of(key), right_of(key)
            value = row(None if one is None else one[0], None if two is None else two[0])
            if value is None:
                return None
            return value, max(found[1] for found in (one, two) if found is not None)

        return joined


_Keep = Callable[[Any, "Change[Any]", int], "Change[Any]"]
"""Takes a key, its change and the time (ms); returns the change as it is forwarded."""


def keeping(store: StoreSpec[Any] | None, context: StoreContext) -> _Keep:
    """Return what puts results into a store, whose row before is then the old value.

    Without a store changes are returned as they are, and a version that is not the latest
    is put into none.
    """
    if store is None:
        return lambda _, change, __: change
    put = store.kind.table(store, context.store(store)).put

    def keep(key: object, change: Change[Any], time_ms: int) -> Change[Any]:
        if not change.latest:
            return change
        replaced = put(key, change.new, time_ms)
        return change if replaced is None else Change(change.new, *replaced)

    return keep
