"""A timestamped store's rows as columns."""

from __future__ import annotations

from typing import Any

from kstreams.serde.object_layout import ObjectLayout
from kstreams.state.stores.entry_columns import EntryColumns
from kstreams.state.stores.state_store import StateStore
from kstreams.state.stores.timestamped.rows import TimestampedRows

__all__ = ("TimestampedColumns",)


class TimestampedColumns(EntryColumns):
    """The same rows that `TimestampedRows` has, many at a time.

    Args:
        rows: The rows; they cache bytes from then on.
        objects: Whether values come as objects with their times, rather than as numbers.

    Raises:
        TypeError: Values vary in width, and do not come as objects.
    """

    def __init__(self, rows: TimestampedRows[Any, Any], *, objects: bool = False) -> None:
        super().__init__(rows.overlay, rows.value, ObjectLayout(rows.value) if objects else None)

    @classmethod
    def of(
        cls, store: StateStore[TimestampedRows[Any, Any]], *, objects: bool = False
    ) -> TimestampedColumns:
        """Return the columns of a store."""
        return cls(TimestampedRows.of(store), objects=objects)
