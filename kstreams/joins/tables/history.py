"""Read the rows of a versioned table as of a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kstreams.errors import TopologyError
from kstreams.joins.table_rows import StoredRows, TableRows, derivation
from kstreams.processors.context import ProcessorContext
from kstreams.state.stores.table_access import Row

__all__ = ("history_reader", "versions_of")


def versions_of(history: TableRows) -> StoredRows:
    """Return the rows of the versioned store that a table is read or derived from.

    Raises:
        TopologyError: The table has no versioned store.
    """
    found = derivation(history)
    if found is None or not found[0].store.kind.has_history:
        raise TopologyError(
            "the join reads the history of a table, but the table of "
            f"{', '.join(repr(spec.name) for spec in history.stores)} has no history",
            hint="define the table's store with versioned_key_value_store(...).",
        )
    return found[0]


def history_reader(
    history: TableRows, context: ProcessorContext[Any, Any]
) -> Callable[[object, int], Row | None]:
    """Return a function that reads the row of a key as of a time, ms.

    If the time is before the store's history, the function returns None and counts a drop as
    `no-history`.

    Raises:
        TopologyError: The table has no versioned store.
    """
    found = derivation(history)
    store, maker = versions_of(history).store, None if found is None else found[1]
    table = store.kind.table(store, context.store(store))
    as_of, horizon, drop = table.get_as_of, table.horizon, context.drop
    if as_of is None or horizon is None:
        raise TopologyError(
            f"store {store.name!r} is a {store.kind.name} store, which has no history",
            hint="define the store with versioned_key_value_store(...).",
        )

    def read(key: object, time_ms: int) -> Row | None:
        row = as_of(key, time_ms)
        if row is None and time_ms < horizon():
            drop("no-history")
        return row

    return read if maker is None else lambda key, time_ms: maker(key, read(key, time_ms))
