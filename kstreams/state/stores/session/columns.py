"""Columnar operations on a session store's rows."""

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
    """The sessions of several rows, sorted by row, then by start.

    Attributes:
        rows: The row of each session, as an index into the requested keys.
        starts: The starts of the sessions, ms.
        ends: The ends of the sessions, ms.
        state: The columns of the values.
    """

    rows: Ints
    starts: Ints
    ends: Ints
    state: Columns

    def take(self, places: npt.NDArray[Any]) -> Sessions:
        """Return the sessions at these positions."""
        state = tuple(column[places] for column in self.state)
        return Sessions(self.rows[places], self.starts[places], self.ends[places], state)


class SessionColumns:
    """Reads and writes many rows of `SessionRows` at a time.

    Args:
        rows: The store's rows, whose cache is switched from objects to bytes.

    Raises:
        TypeError: The values have no fixed width.
    """

    def __init__(self, rows: SessionRows[Any, Any]) -> None:
        self._rows = TimedColumns(rows.overlay, rows.value, span_layout(rows.value))
        self.due, self.keys = self._rows.due, self._rows.keys

    @classmethod
    def of(cls, store: StateStore[SessionRows[Any, Any]]) -> SessionColumns:
        """Return the columnar access to a store's rows."""
        return cls(SessionRows.of(store))

    def read(self, keys: list[bytes]) -> tuple[list[int | None], Sessions]:
        """Return the timer (ms) of each key's row (None without a row), and all sessions."""
        timers, payloads = self._rows.read(keys)
        rows, (starts, ends, *state) = self._rows.layout.divided(payloads)
        return timers, Sessions(rows, starts, ends, tuple(state))

    def write(self, keys: list[bytes], timers: list[int | None], sessions: Sessions) -> None:
        """Set the rows of keys; rows without sessions are deleted.

        A timer may be too early, so that the index is not written while a session grows.

        Args:
            keys: The encoded keys, as in the store.
            timers: The current timers of the rows (ms), None without a row.
            sessions: The new contents of the rows.

        Raises:
            SerializationError: A number in a value is out of range.
        """
        each = zip(timers, self._first_ends(len(keys), sessions), strict=True)
        new = [low if before is None else min(before, low) for before, low in each]
        self._rows.write(keys, timers, new, self._payloads(len(keys), sessions))

    def reschedule(self, keys: list[bytes], timers: list[int | None], sessions: Sessions) -> None:
        """Set the rows of keys that were due; each row's timer becomes its first session end.

        The arguments are those of `write`.
        """
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
