"""Columnar operations on a window store's rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kstreams._types import Ints
from kstreams.serde.binary import read_times, sortable_column
from kstreams.serde.composite import read_int64, sortable_int64
from kstreams.serde.layout import Columns
from kstreams.serde.object_layout import ObjectLayout
from kstreams.serde.objects import objects_of
from kstreams.state.stores.entry_columns import EntryColumns
from kstreams.state.stores.state_store import StateStore
from kstreams.state.stores.window.rows import WindowRows

__all__ = ("WindowColumns",)


class WindowColumns(EntryColumns):
    """Reads and writes many rows of `WindowRows` at a time.

    Args:
        rows: The store's rows, whose cache is switched from objects to bytes.
        objects: Whether values are one column of objects instead of columns of numbers.

    Raises:
        TypeError: The values have no fixed width, and `objects` is False.
    """

    def __init__(self, rows: WindowRows[Any, Any], *, objects: bool = False) -> None:
        super().__init__(rows.overlay, rows.value, ObjectLayout(rows.value) if objects else None)
        self._key = rows.key

    @classmethod
    def of(cls, store: StateStore[WindowRows[Any, Any]], *, objects: bool = False) -> WindowColumns:
        """Return the columnar access to a store's rows.

        `objects` is an argument of the class.
        """
        return cls(WindowRows.of(store), objects=objects)

    def last_start(self) -> int | None:
        """Return the start of the last window, ms, or None without windows."""
        found = next(self.rows.scan(None, None, reverse=True), None)
        return None if found is None else read_int64(found[0])

    def handles(self, starts: Ints, keys: pa.Array) -> list[bytes]:
        """Return the encoded row keys of windows.

        Args:
            starts: The starts of the windows, ms.
            keys: The encoded keys of the windows, as in the store.
        """
        joined = pc.binary_join_element_wise(sortable_column(starts), keys, b"")
        found: list[bytes] = objects_of(joined)
        return found

    def take_before(self, start_ms: int) -> tuple[list[bytes], list[bytes]]:
        """Delete the windows that start before a time (ms); return their row keys and values.

        Both are encoded.
        """
        pairs = list(self.rows.scan(None, sortable_int64(start_ms)))
        if pairs:
            self.drop_before(start_ms)
        return [handle for handle, _ in pairs], [value for _, value in pairs]

    def drop_before(self, start_ms: int) -> None:
        """Delete the windows that start before a time (ms), without reading them."""
        self.rows.delete_range(b"", sortable_int64(start_ms))

    def decoded(self, handles: list[bytes], values: list[bytes]) -> tuple[Ints, pa.Array, Columns]:
        """Decode the result of `take_before`; return starts (ms), keys and values.

        Keys have the form that the serde's `to_arrow` returns.
        """
        starts = read_times(b"".join([handle[:8] for handle in handles]))
        keys = self._key.to_arrow(pa.array([handle[8:] for handle in handles], pa.binary()))
        return starts, keys, self.layout.decode(values)
