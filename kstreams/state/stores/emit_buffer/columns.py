"""Waiting results as columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kstreams._types import Ints
from kstreams.serde.base import Serde
from kstreams.serde.binary import binary_array
from kstreams.serde.composite import sortable_int64
from kstreams.serde.layout import Columns
from kstreams.serde.objects import objects_of
from kstreams.serde.stamped import StampedSerde
from kstreams.state.cache.store_overlay import StoreOverlay
from kstreams.state.stores.entry_columns import EntryColumns

__all__ = ("PendingColumns", "Taken")


Taken = tuple[Ints, Ints, pa.Array, Columns]
"""Starts, ends (ms), keys as `to_arrow` makes them, and states that begin with the time."""

_SIGN = np.uint64(1 << 63)
_NEW = b"\x01"
"""The flags of a window that has a value, and was perhaps never forwarded."""
_HEAD = 24


class PendingColumns(EntryColumns):
    """The same entries that a `PendingStore` has, many at a time; none is a deletion.

    Args:
        overlay: The store's part of the overlay; keeps bytes from here on.
        key: Serde of the keys.
        value: Serde of the states.
    """

    def __init__(self, overlay: StoreOverlay, key: Serde[Any], value: Serde[Any]) -> None:
        super().__init__(overlay, StampedSerde(value))
        self._key = key.ordered

    def put(self, due_ms: int, starts: Ints, ends: Ints, keys: pa.Array, state: Columns) -> None:
        """Let results wait.

        Args:
            due_ms: Until when.
            starts: Starts of their windows, ms.
            ends: Ends of their windows, ms.
            keys: Their keys, as the store keeps them.
            state: Times and states.
        """
        count = len(starts)
        heads = np.empty((count, 3), ">u8")
        for place, times in enumerate((np.full(count, due_ms), starts, ends)):
            heads[:, place] = times.astype(np.uint64) ^ _SIGN
        fixed = binary_array(heads.reshape(-1).view(np.uint8), count, _HEAD)
        handles = pc.binary_join_element_wise(fixed, keys, b"")
        data = pc.binary_join_element_wise(
            pa.scalar(_NEW, pa.binary()), self.layout.encode(state), b""
        )
        self.overlay.put_bytes(objects_of(handles), objects_of(data))

    def is_empty(self) -> bool:
        """Return whether nothing waits."""
        return next(self.overlay.scan_bytes(None, None), None) is None

    def take_until(self, time_ms: int | None) -> Taken | None:
        """Take out what is due at a time (ms) or before, by window, then key; None if nothing.

        `time_ms` None takes all there is.
        """
        end = None if time_ms is None else sortable_int64(time_ms + 1)
        pairs = list(self.overlay.scan_bytes(None, end))
        if not pairs:
            return None
        handles = [handle for handle, _ in pairs]
        self.overlay.delete_range(b"", handles[-1] + b"\x00" if end is None else end)
        heads = np.frombuffer(b"".join([handle[8:_HEAD] for handle in handles]), ">u8")
        times = (heads.astype(np.uint64) ^ _SIGN).astype(np.int64).reshape(-1, 2)
        keys = self._key.to_arrow(pa.array([handle[_HEAD:] for handle in handles], pa.binary()))
        state = self.layout.decode([value[1:] for _, value in pairs])
        return times[:, 0], times[:, 1], keys, state
