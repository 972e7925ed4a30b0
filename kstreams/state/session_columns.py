"""A session store's rows as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kstreams.errors import SerdeError
from kstreams.serde.base import Serde
from kstreams.serde.composite import read_int64, sortable_int64
from kstreams.serde.layout import Columns, span_layout
from kstreams.serde.objects import objects_of
from kstreams.state.store_overlay import StoreOverlay
from kstreams.state.timed_rows import ROW, WAKE

__all__ = ("SessionColumns", "Sessions")

Ints = npt.NDArray[np.int64]

_HEAD = 9
"""Bytes of a row before its sessions."""


@dataclass(frozen=True)
class Sessions:
    """Sessions of some rows, sorted by row, then by start.

    Attributes:
        rows: The row of each session, by its place among the keys that were asked for.
        starts: Their starts, ms.
        ends: Their ends, ms.
        state: Their values.
    """

    rows: Ints
    starts: Ints
    ends: Ints
    state: Columns

    def take(self, places: npt.NDArray[Any]) -> Sessions:
        """Return some of them."""
        state = tuple(column[places] for column in self.state)
        return Sessions(self.rows[places], self.starts[places], self.ends[places], state)


class SessionColumns:
    """The same rows that a `SessionStore` has, many at a time.

    Args:
        overlay: The store's part of the overlay; keeps bytes from here on.
        value: Serde of the values, which have a fixed layout.

    Raises:
        TypeError: They have none.
    """

    def __init__(self, overlay: StoreOverlay, value: Serde[Any]) -> None:
        layout = span_layout(value)
        if layout is None:
            raise TypeError(f"values of {value.name} vary in width")
        overlay.keep_bytes()
        self._overlay = overlay
        self._layout = layout

    def read(self, keys: list[bytes]) -> tuple[list[int | None], Sessions]:
        """Return the wake times (ms) of keys' rows, None without one, and their sessions."""
        data = self._overlay.get_bytes([ROW + key for key in keys])
        wakes = [None if row is None else read_int64(row, 1) for row in data]
        width = self._layout.width
        counts = [0 if row is None else (len(row) - _HEAD) // width for row in data]
        bodies = b"".join([row[_HEAD:] for row in data if row is not None])
        pieces = [bodies[at : at + width] for at in range(0, len(bodies), width)]
        starts, ends, *state = self._layout.decode(pieces)
        rows = np.repeat(np.arange(len(keys)), counts)
        return wakes, Sessions(rows, starts, ends, tuple(state))

    def write(self, keys: list[bytes], wakes: list[int | None], sessions: Sessions) -> None:
        """Set keys' rows; one without sessions is deleted.

        Args:
            keys: The keys, as the store keeps them.
            wakes: When their rows woke before (ms), None without a row.
            sessions: All that the rows hold from now on.

        Raises:
            SerializationError: A number of a value is out of its range.
        """
        counts = np.bincount(sessions.rows, minlength=len(keys))
        lows = np.full(len(keys), np.iinfo(np.int64).max)
        np.minimum.at(lows, sessions.rows, sessions.ends)
        try:
            columns = (sessions.starts, sessions.ends, *sessions.state)
            data = b"".join(objects_of(self._layout.encode(columns)))
        except SerdeError as exc:
            raise exc.at(store=self._overlay.name) from None
        changes: dict[bytes, bytes | None] = {}
        at = 0
        each = zip(keys, wakes, counts.tolist(), lows.tolist(), strict=True)
        for key, before, count, low in each:
            end = at + count * self._layout.width
            # A row may wake too early: so the index is left alone while a session grows.
            wake = low if before is None else min(before, low)
            if before is not None and (not count or wake != before):
                changes[WAKE + sortable_int64(before) + key] = None
            if count:
                head = sortable_int64(wake)
                changes[ROW + key] = ROW + head + data[at:end]
                if wake != before:
                    changes[WAKE + head + key] = b""
            elif before is not None:
                changes[ROW + key] = None
            at = end
        self._overlay.put_bytes(list(changes), list(changes.values()))

    def due(self, until_ms: int) -> list[bytes]:
        """Return the keys, as the store keeps them, whose rows wake at a time or before."""
        end = WAKE + sortable_int64(until_ms + 1)
        return [handle[_HEAD:] for handle, _ in self._overlay.scan_bytes(WAKE, end)]

    def wake_later(self, keys: list[bytes], wakes: list[int | None], sessions: Sessions) -> None:
        """Set the rows of keys that were due, waking at the first end there is now."""
        stale = [
            WAKE + sortable_int64(wake) + key
            for key, wake in zip(keys, wakes, strict=True)
            if wake is not None
        ]
        self._overlay.put_bytes(stale, [None] * len(stale))
        kept = set(sessions.rows.tolist())
        gone = [ROW + key for place, key in enumerate(keys) if place not in kept]
        self._overlay.put_bytes(gone, [None] * len(gone))
        self.write(keys, [None] * len(keys), sessions)
