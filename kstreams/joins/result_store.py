"""Keep the rows that a table is made of by a function, where a store was given for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kstreams.joins.change import Change
from kstreams.joins.table_rows import StoreContext
from kstreams.state.stores.spec import StoreSpec

__all__ = ("Keep", "keeping")

Keep = Callable[[Any, "Change[Any]", int], "Change[Any]"]
"""Takes a key, its change and the time (ms); returns the change as it is forwarded."""


def keeping(store: StoreSpec[Any] | None, context: StoreContext) -> Keep:
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
