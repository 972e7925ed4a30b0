"""Access to the rows of a table: from its store, or computed from rows of other tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from typing_extensions import override

from kstreams.columns.row_failure import RowFailure, RowsFunction, called
from kstreams.joins.change import Change
from kstreams.joins.joiner import Joiner
from kstreams.serde.base import Serde
from kstreams.state.stores.spec import S, StoreSpec
from kstreams.state.stores.table_access import Row

__all__ = (
    "DerivedRows",
    "JoinedRows",
    "RowMaker",
    "RowOf",
    "RowsOf",
    "StoreContext",
    "StoredRows",
    "TableRows",
    "derivation",
    "keeping",
)

RowOf = Callable[[Any], "Row | None"]
"""Takes a key; returns the row's value and time (ms since the epoch), or None for no row."""
RowsOf = Callable[[Sequence[Any]], "list[Row | None]"]
"""Takes many keys; returns their rows in the order of the keys, with one read of each store."""


class StoreContext(Protocol):
    """The part of a context that `TableRows.open` needs: access to the stores of a task."""

    def store(self, spec: StoreSpec[S]) -> S:
        """Return the task's live store for a definition."""
        ...


class TableRows(Protocol):
    """The serializable definition of how a table's rows are read."""

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the stores that are read."""
        ...

    @property
    def key(self) -> Serde[Any]:
        """Return the serde of the table's keys."""
        ...

    def open(self, context: StoreContext) -> RowOf:
        """Return a function that reads rows of the task's partition of the table."""
        ...

    def open_many(self, context: StoreContext) -> RowsOf:
        """Return a function that reads many rows of the task's partition of the table at once."""
        ...


@dataclass(frozen=True)
class StoredRows:
    """Table rows that are read from a store."""

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
        """Return a function that reads one row of the store."""
        return self.store.kind.table(self.store, context.store(self.store)).get

    def open_many(self, context: StoreContext) -> RowsOf:
        """Return a function that reads many rows of the store at once."""
        return self.store.kind.table(self.store, context.store(self.store)).get_many


@dataclass(frozen=True)
class RowMaker(RowsFunction):
    """Derives rows from rows of another table by functions of key and value; None for no row.

    Attributes:
        functions: The functions, each for the results of the previous one.
    """

    functions: tuple[Callable[[Any, Any], Any], ...]

    def __call__(self, key: object, row: Row | None) -> Row | None:
        """Derive a row from a row of the other table; None for no row."""
        if row is None:
            return None
        value, time = row
        for function in self.functions:
            value = function(key, value)
            if value is None:
                return None
        return value, time

    @override
    def rows(self, *columns: Sequence[Any]) -> list[Any]:
        keys, found = columns
        try:
            for function in self.functions:
                found = _derived(function, keys, found)
        except RowFailure:  # a later function may raise at a previous row
            return called(self.__call__, *columns)
        return list(found)


def _derived(
    function: Callable[[Any, Any], Any], keys: Sequence[Any], rows: Sequence[Row | None]
) -> list[Row | None]:
    given = [(key, row) for key, row in zip(keys, rows, strict=True) if row is not None]
    made = iter(called(function, [key for key, _ in given], [row[0] for _, row in given]))
    return [
        None if row is None or (value := next(made)) is None else (value, row[1]) for row in rows
    ]


@dataclass(frozen=True)
class DerivedRows:
    """Rows derived from another table by a function of key and value; None for no row."""

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
        """Return a function that reads a row of the other table and derives a row from it."""
        row_of, make = self.table.open(context), RowMaker((self.function,))
        return lambda key: make(key, row_of(key))

    def open_many(self, context: StoreContext) -> RowsOf:
        """Return a function that reads many rows of the other table and derives a row from each."""
        rows_of, make = self.table.open_many(context), RowMaker((self.function,))

        def read(keys: Sequence[Any]) -> list[Row | None]:
            try:
                return make.rows(keys, rows_of(keys))
            except RowFailure as failure:
                raise failure.reason from None

        return read


@dataclass(frozen=True)
class JoinedRows:
    """Rows joined from two tables; the time of a row is the later time of both rows."""

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
        """Return a function that reads and joins one row of both tables."""
        left_of, right_of = self.left.open(context), self.right.open(context)
        joined = self._joined
        return lambda key: joined(left_of(key), right_of(key))

    def open_many(self, context: StoreContext) -> RowsOf:
        """Return a function that reads and joins many rows of both tables."""
        left_of, right_of = self.left.open_many(context), self.right.open_many(context)
        joined = self._joined
        return lambda keys: list(map(joined, left_of(keys), right_of(keys)))

    def _joined(self, one: Row | None, two: Row | None) -> Row | None:
        value = self.joiner.row(None if one is None else one[0], None if two is None else two[0])
        if value is None:
            return None
        return value, max(found[1] for found in (one, two) if found is not None)


def derivation(rows: TableRows) -> tuple[StoredRows, RowMaker | None] | None:
    """Return the stored rows behind a table, and a function that derives its rows from them.

    Returns None if the table is not derived from a single store. The function is None if the table
    consists of the stored rows themselves.
    """
    if isinstance(rows, StoredRows):
        return rows, None
    found = derivation(rows.table) if isinstance(rows, DerivedRows) else None
    if found is None or not isinstance(rows, DerivedRows):
        return None
    stored, before = found
    return stored, RowMaker((*(before.functions if before else ()), rows.function))


_Keep = Callable[[Any, "Change[Any]", int], "Change[Any]"]
"""Takes a key, its change and the time (ms); returns the change to forward."""


def keeping(store: StoreSpec[Any] | None, context: StoreContext) -> _Keep:
    """Return a function that stores a result's new value, and returns the change to forward.

    The old value of the returned change is the stored value that was replaced. If `store` is None,
    the function only returns its argument. A change that is not the latest version of a row is not
    stored.
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
