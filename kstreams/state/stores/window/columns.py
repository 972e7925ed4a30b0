"""A window store's entries as columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kstreams._types import Ints
from kstreams.serde.base import Serde
from kstreams.serde.binary import sortable_column
from kstreams.serde.composite import read_int64, sortable_int64
from kstreams.serde.layout import Columns
from kstreams.serde.objects import objects_of
from kstreams.state.cache.store_overlay import StoreOverlay
from kstreams.state.stores.entry_columns import EntryColumns

__all__ = ("WindowColumns",)


_SIGN = np.uint64(1 << 63)


class WindowColumns(EntryColumns):
    """The same entries that a `WindowStore` has, many at a time.

    Args:
        overlay: The store's part of the overlay; keeps bytes from here on.
        key: Serde of the keys.
        value: Serde of the stamped values.
    """

    def __init__(self, overlay: StoreOverlay, key: Serde[Any], value: Serde[Any]) -> None:
        super().__init__(overlay, value)
        self._key = key.ordered

    def newest(self) -> int | None:
        """Return the latest start, ms, or None when the store is empty."""
        found = next(self.overlay.scan_bytes(None, None, reverse=True), None)
        return None if found is None else read_int64(found[0])

    def handles(self, starts: Ints, keys: pa.Array) -> list[bytes]:
        """Return the handles of windows.

        Args:
            starts: Their starts, ms.
            keys: Their keys, as the store keeps them.
        """
        joined = pc.binary_join_element_wise(sortable_column(starts), keys, b"")
        found: list[bytes] = objects_of(joined)
        return found

    def take_before(self, start_ms: int) -> tuple[list[bytes], list[bytes]]:
        """Delete the windows that start before a time; return handles and encoded values."""
        pairs = list(self.overlay.scan_bytes(None, sortable_int64(start_ms)))
        if pairs:
            self.drop_before(start_ms)
        return [handle for handle, _ in pairs], [value for _, value in pairs]

    def drop_before(self, start_ms: int) -> None:
        """Delete the windows that start before a time, without reading them."""
        self.overlay.delete_range(b"", sortable_int64(start_ms))

    def decoded(self, handles: list[bytes], values: list[bytes]) -> tuple[Ints, pa.Array, Columns]:
        """Return starts, keys (as `to_arrow` makes them) and values of what was taken."""
        heads = np.frombuffer(b"".join([handle[:8] for handle in handles]), ">u8")
        starts = (heads.astype(np.uint64) ^ _SIGN).astype(np.int64)
        keys = self._key.to_arrow(pa.array([handle[8:] for handle in handles], pa.binary()))
        return starts, keys, self.layout.decode(values)
