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
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.table_access import Row
from kstreams.state.stores.table_columns import PresentColumns

__all__ = ("OLD_TIME", "Changes", "ChangesProcessor", "StoredChanges", "changes_of", "put_rows")

OLD_TIME = "old_timestamp"
"""The column (int64, ms) with the times of old rows, 0 without one, of changes that a store has."""

Changes = tuple[list[Any], list["Change[Any]"], list[int]]
"""Keys, what became of their rows, and when (ms)."""


def changes_of(table: pa.Table) -> Changes:
    """Return the changes that a table by columns has forwarded."""
    keys, changes, times = (
        objects_of(table.column(name)) for name in ("key", "value", "timestamp")
    )
    return keys, changes, times


def put_rows(
    table: PresentColumns, keys: list[Any], values: list[Any], times: list[int]
) -> list[Row | None]:
    """Put rows into a table, one after the other; return what each replaces.

    Args:
        table: Where none waits to be put.
        keys: Their keys, as they are told apart.
        values: Their values; None deletes.
        times: Their times, ms.
    """
    pairs = zip(values, times, strict=True)
    rows = [None if value is None else (value, time) for value, time in pairs]
    different = list(dict.fromkeys(keys))
    stored = table.read(different)
    if len(different) == len(keys):
        table.write(keys, rows)
        return stored
    present = dict(zip(different, stored, strict=True))
    before = []
    for key, row in zip(keys, rows, strict=True):
        before.append(present[key])
        present[key] = row
    table.write(different, [present[key] for key in different])
    return before


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


class StoredChanges(ChangesProcessor):
    """Puts rows into a table's store, and forwards the changes.

    Args:
        store: Definition of the store; nothing else writes to it.
    """

    def __init__(self, store: StoreSpec[Any]) -> None:
        self._spec = store

    def init(self, context: BatchContext) -> None:
        """Get the store ready."""
        super().init(context)
        table = self._spec.kind.table_columns(self._spec, context.store(self._spec))
        self._table = PresentColumns.among(table, self._spec.name)

    def _put(self, table: pa.Table, keys: list[Any], values: list[Any], times: list[int]) -> None:
        """Put a table's rows, one after the other, and forward it with what they change.

        Args:
            table: The rows as they are forwarded, but for their values.
            keys: Their keys, as they are told apart.
            values: Their values; None deletes.
            times: Their times, ms.
        """
        before = put_rows(self._table, keys, values, times)
        changes = list(map(Change, values, [None if row is None else row[0] for row in before]))
        old_times = pa.array([0 if row is None else row[1] for row in before], pa.int64())
        self._forward(table.append_column(OLD_TIME, old_times), changes)
