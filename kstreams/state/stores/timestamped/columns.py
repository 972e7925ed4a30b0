"""Columnar operations on a timestamped store's rows."""

from __future__ import annotations

from typing import Any

from kstreams.serde.object_layout import ObjectLayout
from kstreams.state.stores.entry_columns import EntryColumns
from kstreams.state.stores.state_store import StateStore
from kstreams.state.stores.timestamped.rows import TimestampedRows

__all__ = ("TimestampedColumns",)


class TimestampedColumns(EntryColumns):
    """The rows of `TimestampedRows`, many at a time.

    Args:
        rows: The rows; they cache bytes from then on.
        objects: Whether the columns have values as objects, with their times, instead of numbers.

    Raises:
        TypeError: The values have no fixed width, and `objects` is False.
    """

    def __init__(self, rows: TimestampedRows[Any, Any], *, objects: bool = False) -> None:
        super().__init__(rows.overlay, rows.value, ObjectLayout(rows.value) if objects else None)

    @classmethod
    def of(
        cls, store: StateStore[TimestampedRows[Any, Any]], *, objects: bool = False
    ) -> TimestampedColumns:
        """Return the columns of a store."""
        return cls(TimestampedRows.of(store), objects=objects)
