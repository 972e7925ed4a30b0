"""How a versioned table is read as it was, and what is older than all that it knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kstreams.errors import TopologyError
from kstreams.processors.context import ProcessorContext
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.table_access import Row

__all__ = ("history_reader",)


def history_reader(
    store: StoreSpec[Any], context: ProcessorContext[Any, Any]
) -> Callable[[object, int], Row | None]:
    """Return what reads the row of a key as of a time, ms.

    A time that the history does not reach back to has no row, and is counted as `no-history`.

    Raises:
        TopologyError: The store has no history.
    """
    table = store.kind.table(store, context.store(store))
    as_of, horizon, drop = table.get_as_of, table.horizon, context.drop
    if as_of is None or horizon is None:
        raise TopologyError(
            f"store {store.name!r} is a {store.kind.name} store, which has no history",
            hint="define it with versioned_key_value_store(...).",
        )

    def read(key: object, time_ms: int) -> Row | None:
        row = as_of(key, time_ms)
        if row is None and time_ms < horizon():
            drop("no-history")
        return row

    return read
