"""A session store's rows as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kstreams._types import Ints
from kstreams.errors import SerdeError
from kstreams.serde.base import Serde
from kstreams.serde.layout import Columns, span_layout
from kstreams.state.cache.store_overlay import StoreOverlay
from kstreams.state.stores.timed_columns import TimedColumns

__all__ = ("SessionColumns", "Sessions")


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
        self._rows = TimedColumns(overlay)
        self._layout = layout
        self.due, self.keys = self._rows.due, self._rows.keys

    def read(self, keys: list[bytes]) -> tuple[list[int | None], Sessions]:
        """Return the wake times (ms) of keys' rows, None without one, and their sessions."""
        wakes, payloads = self._rows.read(keys)
        rows, (starts, ends, *state) = self._layout.divided(payloads)
        return wakes, Sessions(rows, starts, ends, tuple(state))

    def write(self, keys: list[bytes], wakes: list[int | None], sessions: Sessions) -> None:
        """Set keys' rows; one without sessions is deleted.

        A row may wake too early: so the index is left alone while a session grows.

        Args:
            keys: The keys, as the store keeps them.
            wakes: When their rows woke before (ms), None without a row.
            sessions: All that the rows hold from now on.

        Raises:
            SerializationError: A number of a value is out of its range.
        """
        each = zip(wakes, self._first_ends(len(keys), sessions), strict=True)
        new = [low if before is None else min(before, low) for before, low in each]
        self._rows.write(keys, wakes, new, self._payloads(len(keys), sessions))

    def wake_later(self, keys: list[bytes], wakes: list[int | None], sessions: Sessions) -> None:
        """Set the rows of keys that were due, waking at the first end there is now."""
        new = self._first_ends(len(keys), sessions)
        self._rows.write(keys, wakes, new, self._payloads(len(keys), sessions))

    def _first_ends(self, count: int, sessions: Sessions) -> list[int]:
        lows = np.full(count, np.iinfo(np.int64).max)
        np.minimum.at(lows, sessions.rows, sessions.ends)
        found: list[int] = lows.tolist()
        return found

    def _payloads(self, count: int, sessions: Sessions) -> list[bytes]:
        columns = (sessions.starts, sessions.ends, *sessions.state)
        try:
            return self._layout.joined(columns, np.bincount(sessions.rows, minlength=count))
        except SerdeError as exc:
            raise exc.at(store=self._rows.overlay.name) from None
