"""State of columnar stream joins: the store and its in-memory tail."""

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
    """Base class of columnar stream-stream joins.

    Args:
        within: The window and the grace.
        joiner: A joiner of any kind.
        store: The store of both sides.
        sources: The sources of the left and the right records; their keys have one serde.
        of_itself: Whether both sides are the same stream, but are stored separately.
    """

    def __init__(
        self,
        within: Within,
        joiner: Joiner[Any, Any, Any, Any],
        store: StoreSpec[Any],
        sources: tuple[ColumnSource, ColumnSource],
        *,
        of_itself: bool = False,
    ) -> None:
        self._within = within
        self._joiner = joiner
        self._spec = store
        self._sources = sources
        self._of_itself = of_itself

    def init(self, context: BatchContext) -> None:
        """Open the store."""
        super().init(context)
        rows: JoinRows[Any, Any, Any] = JoinRows.of(context.store(self._spec))
        self._setup = rows.set_up(Setup.of(*self._within.spans_ms))
        if self._of_itself:
            rows.mirror()
        self._rows, self._columns = rows, JoinColumns(rows)
        self._tail = JoinTail(rows, self._columns, self._setup)
