"""The builder's tables that several inputs change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from kstreams._types import K, S
from kstreams.errors import TopologyError
from kstreams.graph.feed import Feed
from kstreams.graph.nodes import Table
from kstreams.graph.table_builder import TableBuilder
from kstreams.joins.cogroup import GroupUpdate
from kstreams.joins.table_rows import StoredRows
from kstreams.processors.branch import PassThrough
from kstreams.state.stores.kind import check_kind
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.kind import TIMESTAMPED
from kstreams.state.stores.timestamped.store import TimestampedStore

__all__ = ("CogroupBuilder",)


class CogroupBuilder(TableBuilder):
    """Adds tables of several inputs; see `TopologyBuilder`."""

    def cogroup(
        self,
        name: str,
        *feeds: Callable[[], Feed[K, S]],
        store: StoreSpec[TimestampedStore[K, S]],
        ttl: timedelta | None = None,
    ) -> Table[K, S]:
        """Make a table that several inputs change, each by a function of its own.

        All inputs are in one partition group. Null keys are dropped as `null-key`; null values
        are the functions' own business. A row's time is the highest of its records. A record
        that reaches several feeds is several steps, in the order in which it reaches them.

        Args:
            name: Name of the table; its inputs are `<name>.feed-1`, `<name>.feed-2`, ...
            feeds: What `feed(node, update)` returns, one or more.
            store: Where the states are.
            ttl: As for `add_table`.

        Raises:
            TopologyError: There is no feed, or the store is of another kind.
            ValueError: `ttl` is not positive.

        Source: a goka group table with its `Input`s; `KGroupedStream#cogroup`.
        """
        check_kind(store, TIMESTAMPED, "cogroup needs")
        if not feeds:
            raise TopologyError(
                f"table {name!r} has no inputs", hint="give cogroup one feed(...) or more."
            )
        updates = []
        for number, make in enumerate(feeds, 1):
            made = make()
            update = GroupUpdate(made.update, store)
            parts = f"{name}.feed-{number}", update, (made.node,)
            updates.append(self._add(self._processor(*parts, makes_table=True)))
        rows = StoredRows(store)
        return self._keeping(name, PassThrough, updates, rows, store, ttl, makes_table=False)
