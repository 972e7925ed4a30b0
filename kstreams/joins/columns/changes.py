"""Tables of changes: what tables by columns forward, and nodes by records take as `Change`s."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import pyarrow as pa

from kstreams.joins.change import Change
from kstreams.processors.columns import ColumnProcessor, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.serde.held_objects import HeldObjects
from kstreams.serde.objects import objects_of
from kstreams.state.stores.table_access import Row

__all__ = ("ChangedRows", "Changes", "ChangesProcessor", "changes_of")

Changes = tuple[list[Any], list["Change[Any]"], list[int]]
"""Keys, what became of their rows, and when (ms)."""


def changes_of(table: pa.Table) -> Changes:
    """Return the changes that a table by columns has forwarded."""
    keys, changes, times = (
        objects_of(table.column(name)) for name in ("key", "value", "timestamp")
    )
    return keys, changes, times


class ChangedRows:
    """Rows that change one after the other, of which none is read twice.

    Args:
        keys: All that may change, as they are told apart.
        rows: What they have.
    """

    def __init__(self, keys: list[Any], rows: list[Row | None]) -> None:
        self.present: dict[Any, Row | None] = dict(zip(keys, rows, strict=True))

    def change(self, key: object, value: object, time_ms: int) -> Change[Any]:
        """Set the value of a key; None deletes it."""
        before = self.present[key]
        self.present[key] = None if value is None else (value, time_ms)
        return Change(value, None if before is None else before[0])


class ChangesProcessor(ColumnProcessor):
    """Forwards changes."""

    @property
    def reads_values(self) -> bool:
        """Return True."""
        return True

    def init(self, context: BatchContext) -> None:
        """Get ready to hold objects."""
        super().init(context)
        self._objects = HeldObjects()

    def advance(self, stream_time_ms: int) -> None:
        """Let go of the batch's objects."""
        self._objects.clear()

    @abstractmethod
    def process_batch(self, table: pa.Table) -> None:
        """Forward what becomes of a table."""

    def _forward(self, table: pa.Table, values: list[Any]) -> None:
        """Forward a table with these values, changes as a rule."""
        place = table.column_names.index("value")
        self.context.forward(table.set_column(place, "value", self._objects.column(values)))

    def _typed(self, table: pa.Table, source: ColumnSource) -> tuple[pa.Table, list[Any]]:
        """Return a table with keys as they are forwarded, and those as objects."""
        raw = table.column("key").combine_chunks()
        keys = source.key.to_arrow(raw)
        table = table.set_column(table.column_names.index("key"), "key", keys)
        return table, objects_of(keys)
