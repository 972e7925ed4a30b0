"""Columnar operations on a timestamped store's rows."""

from __future__ import annotations

from typing import Any

from kstreams.serde.layout import Columns
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
        self._value = rows.value
        self._of_objects = objects

    def objects(self, values: Columns) -> list[Any]:
        """Return values without their timestamps as objects, as the store returns them.

        Args:
            values: The columns of the values; the first one has the timestamps.

        Raises:
            SerializationError: A number in a value is out of range.
        """
        if self._of_objects:
            return list(values[1])
        pairs: list[Any] = self._value.deserialize_many(self.layout.encode(values))
        return [value for value, _ in pairs]

    @classmethod
    def of(
        cls, store: StateStore[TimestampedRows[Any, Any]], *, objects: bool = False
    ) -> TimestampedColumns:
        """Return the columnar access to a store's rows.

        `objects` is an argument of the class.
        """
        return cls(TimestampedRows.of(store), objects=objects)
