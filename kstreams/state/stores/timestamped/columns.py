"""A timestamped store's rows as columns."""

from __future__ import annotations

from typing import Any

from kstreams.state.stores.entry_columns import EntryColumns
from kstreams.state.stores.state_store import StateStore
from kstreams.state.stores.timestamped.rows import TimestampedRows

__all__ = ("TimestampedColumns",)


class TimestampedColumns(EntryColumns):
    """The same rows that `TimestampedRows` has, many at a time.

    Args:
        rows: The rows; they keep bytes from here on.

    Raises:
        TypeError: Values vary in width.
    """

    def __init__(self, rows: TimestampedRows[Any, Any]) -> None:
        super().__init__(rows.overlay, rows.value)

    @classmethod
    def of(cls, store: StateStore[TimestampedRows[Any, Any]]) -> TimestampedColumns:
        """Return the columns of a store."""
        return cls(TimestampedRows.of(store))
