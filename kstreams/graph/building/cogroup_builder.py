"""The builder's tables that several inputs update."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from kstreams._types import K, S
from kstreams.errors import TopologyError
from kstreams.graph.building.feed import Feed
from kstreams.graph.building.table_builder import TableBuilder
from kstreams.graph.nodes import Table
from kstreams.joins.table_rows import StoredRows
from kstreams.joins.tables.cogroup import GroupUpdate
from kstreams.processors.branch import PassThrough
from kstreams.state.stores.kind import check_kind
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.kind import TIMESTAMPED
from kstreams.state.stores.timestamped.store import TimestampedStore

__all__ = ("CogroupBuilder",)


class CogroupBuilder(TableBuilder):
    """Adds tables with several inputs; see `TopologyBuilder`."""

    def cogroup(
        self,
        name: str,
        *feeds: Callable[[], Feed[K, S]],
        store: StoreSpec[TimestampedStore[K, S]],
        ttl: timedelta | None = None,
    ) -> Table[K, S]:
        """Add a table that several inputs update, each with its own function.

        All inputs are in one partition group. Null keys are dropped as `null-key`; null values are
        passed to the functions. The time of a row is the highest time of its records. A record that
        reaches several feeds is processed once by each feed, in the order in which it reaches the
        feeds.

        Args:
            name: Name of the table; its inputs are `<name>.feed-1`, `<name>.feed-2`, ...
            feeds: The results of `feed(node, update)`, one or more.
            store: The store of the states.
            ttl: See `add_table`.

        Raises:
            TopologyError: There is no feed, or the store is not a `timestamped_store`.
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
