"""What joins of streams by columns remember of the records that came: a store, and its blocks."""

from __future__ import annotations

from typing import Any

from kstreams.joins.joiner import Joiner
from kstreams.joins.within import Within
from kstreams.processors.columns import ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.processors.each_row import EachRow
from kstreams.state.stores.join.columns import JoinColumns
from kstreams.state.stores.join.rows import JoinRows
from kstreams.state.stores.join.setup import Setup
from kstreams.state.stores.join.tail import JoinTail
from kstreams.state.stores.spec import StoreSpec

__all__ = ("RemembersStreams",)


class RemembersStreams(EachRow):
    """Base of joins of streams by columns.

    Args:
        within: How near the records are.
        joiner: Of any kind.
        store: What is remembered.
        sources: What the left and the right records come from; their keys have one serde.
    """

    def __init__(
        self,
        within: Within,
        joiner: Joiner[Any, Any, Any, Any],
        store: StoreSpec[Any],
        sources: tuple[ColumnSource, ColumnSource],
    ) -> None:
        self._within = within
        self._joiner = joiner
        self._spec = store
        self._sources = sources

    def init(self, context: BatchContext) -> None:
        """Get the store ready."""
        super().init(context)
        rows: JoinRows[Any, Any, Any] = JoinRows.of(context.store(self._spec))
        self._rows, self._columns = rows, JoinColumns(rows)
        self._setup = rows.set_up(Setup.of(*self._within.spans_ms))
        self._tail = JoinTail(rows, self._columns, self._setup)
