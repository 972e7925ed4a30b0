"""Columnar operations on a timestamped store's rows."""

from __future__ import annotations

from typing import Any

from kstreams.serde.object_layout import ObjectLayout
from kstreams.state.stores.entry_columns import EntryColumns
from kstreams.state.stores.state_store import StateStore
from kstreams.state.stores.timestamped.rows import TimestampedRows

__all__ = ("TimestampedColumns",)


class TimestampedColumns(EntryColumns):
    """Reads and writes many rows of `TimestampedRows` at a time.

    Args:
        rows: The store's rows, whose cache is switched from objects to bytes.
        objects: Whether values are one column of objects instead of columns of numbers.

    Raises:
        TypeError: The values have no fixed width, and `objects` is False.
    """

    def __init__(self, rows: TimestampedRows[Any, Any], *, objects: bool = False) -> None:
        super().__init__(rows.overlay, rows.value, ObjectLayout(rows.value) if objects else None)

    @classmethod
    def of(
        cls, store: StateStore[TimestampedRows[Any, Any]], *, objects: bool = False
    ) -> TimestampedColumns:
        """Return the columnar access to a store's rows.

        `objects` is an argument of the class.
        """
        return cls(TimestampedRows.of(store), objects=objects)
