"""A session store's rows as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kstreams._types import Ints
from kstreams.serde.layout import Columns, span_layout
from kstreams.state.stores.session.rows import SessionRows
from kstreams.state.stores.state_store import StateStore
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
    """The same rows that `SessionRows` has, many at a time.

    Args:
        rows: The rows; they cache bytes from then on.

    Raises:
        TypeError: Values vary in width.
    """

    def __init__(self, rows: SessionRows[Any, Any]) -> None:
        self._rows = TimedColumns(rows.overlay, rows.value, span_layout(rows.value))
        self.due, self.keys = self._rows.due, self._rows.keys

    @classmethod
    def of(cls, store: StateStore[SessionRows[Any, Any]]) -> SessionColumns:
        """Return the columns of a store."""
        return cls(SessionRows.of(store))

    def read(self, keys: list[bytes]) -> tuple[list[int | None], Sessions]:
        """Return the timers (ms) of keys' rows, None without one, and their sessions."""
        timers, payloads = self._rows.read(keys)
        rows, (starts, ends, *state) = self._rows.layout.divided(payloads)
        return timers, Sessions(rows, starts, ends, tuple(state))

    def write(self, keys: list[bytes], timers: list[int | None], sessions: Sessions) -> None:
        """Set keys' rows; one without sessions is deleted.

        A timer may be too early: so the index is left alone while a session grows.

        Args:
            keys: The keys, as the store keeps them.
            timers: Their rows' timers so far (ms), None without a row.
            sessions: All that the rows hold from now on.

        Raises:
            SerializationError: A number of a value is out of its range.
        """
        each = zip(timers, self._first_ends(len(keys), sessions), strict=True)
        new = [low if before is None else min(before, low) for before, low in each]
        self._rows.write(keys, timers, new, self._payloads(len(keys), sessions))

    def reschedule(self, keys: list[bytes], timers: list[int | None], sessions: Sessions) -> None:
        """Set the rows of keys that were due, with timers at the first end there is now."""
        new = self._first_ends(len(keys), sessions)
        self._rows.write(keys, timers, new, self._payloads(len(keys), sessions))

    def _first_ends(self, count: int, sessions: Sessions) -> list[int]:
        lows = np.full(count, np.iinfo(np.int64).max)
        np.minimum.at(lows, sessions.rows, sessions.ends)
        found: list[int] = lows.tolist()
        return found

    def _payloads(self, count: int, sessions: Sessions) -> list[bytes]:
        columns = (sessions.starts, sessions.ends, *sessions.state)
        return self._rows.payloads(columns, np.bincount(sessions.rows, minlength=count))
