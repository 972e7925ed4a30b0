"""Columnar operations on an emit buffer's rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kstreams._types import Ints
from kstreams.serde.binary import binary_array, read_times, sortable_times
from kstreams.serde.composite import sortable_int64
from kstreams.serde.layout import Columns
from kstreams.serde.objects import objects_of
from kstreams.serde.stamped import StampedSerde
from kstreams.state.stores.emit_buffer.rows import EmitBufferRows
from kstreams.state.stores.entry_columns import EntryColumns
from kstreams.state.stores.state_store import StateStore

__all__ = ("EmitBufferColumns", "Taken")

Taken = tuple[Ints, Ints, pa.Array, Columns]
"""Window starts and ends (ms), keys as returned by `to_arrow`, and states with a time first."""

_NEW = b"\x01"
"""The flags of a window that has a value and may not have been forwarded yet."""
_HEAD = 24


class EmitBufferColumns(EntryColumns):
    """Reads and writes many rows of `EmitBufferRows` at a time; each row must have a value.

    Args:
        rows: The store's rows, whose cache is switched from objects to bytes.

    Raises:
        TypeError: The states have no fixed width.
    """

    def __init__(self, rows: EmitBufferRows[Any, Any]) -> None:
        super().__init__(rows.overlay, StampedSerde(rows.value))
        self._key = rows.key

    @classmethod
    def of(cls, store: StateStore[EmitBufferRows[Any, Any]]) -> EmitBufferColumns:
        """Return the columnar access to a store's rows."""
        return cls(EmitBufferRows.of(store))

    def put(self, due_ms: int, starts: Ints, ends: Ints, keys: pa.Array, state: Columns) -> None:
        """Add results, which are to be forwarded at a later stream time.

        Args:
            due_ms: The stream time at which the results are forwarded, ms.
            starts: The starts of the results' windows, ms.
            ends: The ends of the results' windows, ms.
            keys: The encoded keys of the results, as in the store.
            state: The timestamps (ms) and states of the results.
        """
        count = len(starts)
        heads = np.empty((count, 3), ">u8")
        for place, times in enumerate((np.full(count, due_ms), starts, ends)):
            heads[:, place] = sortable_times(times)
        fixed = binary_array(heads.reshape(-1).view(np.uint8), count, _HEAD)
        handles = pc.binary_join_element_wise(fixed, keys, b"")
        data = pc.binary_join_element_wise(
            pa.scalar(_NEW, pa.binary()), self.layout.encode(state), b""
        )
        self.rows.put_many(objects_of(handles), objects_of(data))

    def is_empty(self) -> bool:
        """Return whether the buffer has no results."""
        return next(self.rows.scan(None, None), None) is None

    def take_until(self, time_ms: int | None) -> Taken | None:
        """Delete and return the results due at `time_ms` or earlier, by window, then by key.

        If `time_ms` is None, all results are deleted and returned. Returns None without results.
        """
        end = None if time_ms is None else sortable_int64(time_ms + 1)
        pairs = list(self.rows.scan(None, end))
        if not pairs:
            return None
        handles = [handle for handle, _ in pairs]
        self.rows.delete_range(b"", handles[-1] + b"\x00" if end is None else end)
        times = read_times(b"".join([handle[8:_HEAD] for handle in handles])).reshape(-1, 2)
        keys = self._key.to_arrow(pa.array([handle[_HEAD:] for handle in handles], pa.binary()))
        state = self.layout.decode([value[1:] for _, value in pairs])
        return times[:, 0], times[:, 1], keys, state
