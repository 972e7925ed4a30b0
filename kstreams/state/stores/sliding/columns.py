"""Columnar operations on a sliding store's rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kstreams._types import Ints
from kstreams.serde.layout import Columns, slice_layout
from kstreams.state.stores.sliding.rows import SlidingRows
from kstreams.state.stores.state_store import StateStore
from kstreams.state.stores.timed_columns import TimedColumns

__all__ = ("SliceRows", "SlidingColumns")

_DONE = ">i8"
_DONE_BYTES = 8


@dataclass(frozen=True)
class SliceRows:
    """The slices of several rows, sorted by row, then by time.

    Attributes:
        rows: The row of each slice, as an index into the requested keys.
        times: The times of the slices, ms.
        state: The columns of the values.
    """

    rows: Ints
    times: Ints
    state: Columns

    def take(self, places: npt.NDArray[Any]) -> SliceRows:
        """Return the slices at these positions."""
        state = tuple(column[places] for column in self.state)
        return SliceRows(self.rows[places], self.times[places], state)


class SlidingColumns:
    """Reads and writes many rows of `SlidingRows` at a time.

    Args:
        rows: The store's rows, whose cache is switched from objects to bytes.

    Raises:
        TypeError: The values have no fixed width.
    """

    def __init__(self, rows: SlidingRows[Any, Any]) -> None:
        self._rows = TimedColumns(rows.overlay, rows.value, slice_layout(rows.value))
        self.due, self.keys = self._rows.due, self._rows.keys

    @classmethod
    def of(cls, store: StateStore[SlidingRows[Any, Any]]) -> SlidingColumns:
        """Return the columnar access to a store's rows."""
        return cls(SlidingRows.of(store))

    def read(self, keys: list[bytes]) -> tuple[list[int | None], Ints, SliceRows]:
        """Return the timers and closed times of the keys' rows (both ms), and all slices.

        A timer is None if the key has no row. Windows that end before the closed time are closed.
        """
        timers, payloads = self._rows.read(keys)
        zero = bytes(_DONE_BYTES)
        heads = b"".join([data[:_DONE_BYTES] or zero for data in payloads])
        rows, (times, *state) = self._rows.layout.divided([data[_DONE_BYTES:] for data in payloads])
        return (
            timers,
            np.frombuffer(heads, _DONE).astype(np.int64),
            SliceRows(rows, times, tuple(state)),
        )

    def write(
        self,
        keys: list[bytes],
        before: list[int | None],
        timers: list[int],
        slices: SliceRows,
        *,
        done_ms: int,
    ) -> None:
        """Write the rows of keys; delete the rows without slices.

        Args:
            keys: The encoded keys, as in the store.
            before: The timers of the stored rows (ms), None without a row.
            timers: The new timers, ms.
            slices: The new content of the rows.
            done_ms: Windows that end before this time (ms) are closed.

        Raises:
            SerializationError: A number in a value is out of range.
        """
        counts = np.bincount(slices.rows, minlength=len(keys))
        data = self._rows.payloads((slices.times, *slices.state), counts)
        head = np.array(done_ms, _DONE).tobytes()
        self._rows.write(keys, before, timers, [head + d if d else d for d in data])
