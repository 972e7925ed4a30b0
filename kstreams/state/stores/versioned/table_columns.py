"""A versioned table for columnar joins: a lookup has a time and a position in the batch."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kstreams._types import Ints
from kstreams.serde.objects import objects_of
from kstreams.state.stores.table_access import Row
from kstreams.state.stores.table_columns import Found, TableColumns
from kstreams.state.stores.versioned.rows import NOT_PUT, VersionedRows
from kstreams.times import BEFORE_ALL_MS

__all__ = ("VersionedColumns",)

_Change = tuple[int, int, Any]
"""The position in the batch where a version was put, its start (ms) and its value."""
_NONE = -1


class VersionedColumns(TableColumns):
    """A versioned table for columnar joins: stored versions, and pending versions of the batch.

    Most lookups find that the key's latest version is valid at their time; one read of the store
    serves all these lookups. A lookup at a time before the latest version needs a scan, and lookups
    of keys that the batch changes are done one by one.

    Args:
        rows: The rows of the store.
    """

    def __init__(self, rows: VersionedRows[Any, Any]) -> None:
        self._rows = rows
        self._values: list[Any] = []
        self._times: list[int] = []
        self._forget()

    def put(self, keys: pa.Array, values: list[Any], times: list[int], places: Ints) -> None:
        """Add versions of the batch, which `settle` writes to the store."""
        self._keys, self._values, self._times, self._places = keys, values, times, places

    def settle(self) -> int:
        """Write the pending versions; return how many were older than the retention."""
        put, keys = self._rows.put, objects_of(self._keys)
        waiting = zip(keys, self._values, self._times, strict=True)
        refused = sum(put(key, value, time) == NOT_PUT for key, value, time in waiting)
        self._forget()
        return refused

    def _forget(self) -> None:
        self._keys = pa.nulls(0)
        self._values, self._times = [], []
        self._places = np.empty(0, np.int64)

    def rows_at(self, keys: pa.Array, codes: Ints, places: Ints, times: Ints) -> Found:
        """Return the version valid at each lookup's time, including puts before its position."""
        objects = objects_of(keys)
        latest = self._rows.latest_many(objects)
        rows: list[Row | None] = [_row(found) for found in latest]
        starts = np.array([BEFORE_ALL_MS if each is None else each[0] for each in latest])
        numbers = codes.copy()
        horizons = self._horizons(places)
        changed = self._changes(keys)
        is_changed = np.zeros(len(objects), bool)
        is_changed[list(changed)] = True
        slow = np.flatnonzero((starts[codes] > times) | is_changed[codes])
        slow = slow[np.argsort(codes[slow], kind="stable")]
        for code, group in groupby(slow.tolist(), lambda look_up: int(codes[look_up])):
            history = _History(self._rows, objects[code], latest[code], changed.get(code, []))
            for look_up in group:
                place, time = int(places[look_up]), int(times[look_up])
                numbers[look_up] = len(rows)
                rows.append(history.at(place, time, int(horizons[look_up])))
        is_none = np.array([row is None for row in rows], bool)[numbers]
        return Found(rows, numbers, int(np.count_nonzero(is_none & (times < horizons))))

    def _horizons(self, places: Ints) -> Ints:
        """Return, for each position in the batch, the earliest time (ms) in the retention."""
        observed = self._rows.observed()
        first = BEFORE_ALL_MS if observed is None else observed
        highest = np.maximum.accumulate(np.array([first, *self._times]))
        highest = highest[np.searchsorted(self._places, places)]
        horizons: Ints = np.where(
            highest == BEFORE_ALL_MS, BEFORE_ALL_MS, highest - self._rows.retention_ms
        )
        return horizons

    def _changes(self, keys: pa.Array) -> dict[int, list[_Change]]:
        """Return the pending versions within the retention, by the index of their key in `keys`."""
        found: dict[int, list[_Change]] = {}
        if not self._values:
            return found
        codes = pc.index_in(self._keys, value_set=keys).fill_null(_NONE).to_numpy()
        times = np.array(self._times)
        taken = (codes != _NONE) & (times >= self._horizons(self._places))
        for row in np.flatnonzero(taken).tolist():
            change = int(self._places[row]), self._times[row], self._values[row]
            found.setdefault(int(codes[row]), []).append(change)
        return found


class _History:
    """The versions of one key, for lookups by ascending position in the batch.

    Args:
        rows: The stored versions.
        key: The key.
        latest: Start and value of the latest stored version, or None.
        changes: The pending versions of the batch, by position.
    """

    def __init__(
        self,
        rows: VersionedRows[Any, Any],
        key: object,
        latest: tuple[int, Any] | None,
        changes: list[_Change],
    ) -> None:
        self._rows, self._key, self._latest = rows, key, latest
        self._changes: Iterator[_Change] = iter(changes)
        self._next = next(self._changes, None)
        self._starts: list[int] = []
        self._values: dict[int, Any] = {}

    def at(self, place: int, time: int, horizon: int) -> Row | None:
        """Return the version valid at `time` as a row, including puts before position `place`.

        Successive calls must have ascending positions. The result is None without a valid version,
        or if the version valid at `time` may be deleted, because `time` is before `horizon`, the
        earliest time (ms) in the retention.
        """
        while self._next is not None and self._next[0] < place:
            _, start, value = self._next
            if start not in self._values:
                insort(self._starts, start)
            self._values[start] = value
            self._next = next(self._changes, None)
        newest = max([*self._starts[-1:], *(self._latest or ())[:1]], default=time)
        if newest > time and time < horizon:
            return None
        stored = self._stored(time)
        before = bisect_right(self._starts, time)
        if before and (stored is None or self._starts[before - 1] >= stored[0]):
            start = self._starts[before - 1]
            return _row((start, self._values[start]))
        return _row(stored)

    def _stored(self, time: int) -> tuple[int, Any] | None:
        """Return start and value of the stored version that was valid at a time, or None."""
        if self._latest is None or self._latest[0] <= time:
            return self._latest
        found = self._rows.at_or_before(self._key, time)
        return None if found is None else (found[0], found[2])


def _row(version: tuple[int, Any] | None) -> Row | None:
    """Return a version as the row of a table; None for a version without a value."""
    return None if version is None or version[1] is None else (version[1], version[0])
