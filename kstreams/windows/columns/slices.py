"""Slices of many keys, and the sliding windows that consist of slices.

A slice is the merged state of a key's records with the same time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kstreams._types import Ints
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.columns.grouping import grouped
from kstreams.columns.ranges import merged_before, merged_ranges
from kstreams.columns.runs import Runs
from kstreams.serde.layout import Columns
from kstreams.state.stores.sliding.columns import SliceRows
from kstreams.windows.columns.results import Placed, Results
from kstreams.windows.columns.sliding_ranges import SlidingRanges, first_slices, sliding_ranges

__all__ = ("MergedSlices", "SliceWindows", "merged_slices")


_PAIRS_AT_ONCE = 1 << 19


@dataclass(frozen=True)
class MergedSlices:
    """Rows of stored slices and new records, sorted by key, time and arrival.

    Attributes:
        places: The row number of each record in the batch; -1 for stored slices.
        state: The state of each row.
        runs: The merged slices, as runs of rows with the same key and time.
        slices: The keys, times and states of the merged slices.
    """

    places: Ints
    state: Columns
    runs: Runs
    slices: SliceRows


def merged_slices(
    form: ColumnForm, stored: SliceRows, records: SliceRows, places: Ints
) -> MergedSlices:
    """Merge one or more records with the stored slices of their keys.

    Args:
        form: Merges states.
        stored: The stored slices.
        records: A slice for each record, in the order of arrival.
        places: The row numbers of the records in the batch.
    """
    codes = np.concatenate((stored.rows, records.rows))
    times = np.concatenate((stored.times, records.times))
    places = np.concatenate((np.full(len(stored.rows), -1), places))
    pairs = zip(stored.state, records.state, strict=True)
    low = int(times.min())
    groups = grouped(codes, times - low, int(times.max()) - low + 1)
    order, runs = groups.order, groups.runs
    state = tuple(np.concatenate(pair)[order] for pair in pairs)
    first = groups.first
    slices = SliceRows(codes[first], times[first], form.reduce(state, runs))
    return MergedSlices(places[order], state, runs, slices)


class SliceWindows:
    """Computes the results of sliding windows from slices.

    Args:
        form: Merges states, and converts states to results.
        span: The time from a window's start to its end, both inclusive, ms.
    """

    def __init__(self, form: ColumnForm, span: int) -> None:
        self._form = form
        self._span = span

    def last_end(self, slices: SliceRows) -> int | None:
        """Return the last end of a window, ms; None if there are no slices."""
        starts = sliding_ranges(slices, self._span).starts
        return int(starts.max()) + self._span if len(starts) else None

    def changed(self, merged: MergedSlices, keys: pa.Array) -> Results:
        """Return the windows that contain a new record, or that begin right after a new record.

        Args:
            merged: The records and the stored slices.
            keys: The distinct keys, numbered.
        """
        windows = sliding_ranges(merged.slices, self._span)
        touched = merged.runs.highest(merged.places) >= 0
        new = merged.places[merged.runs.firsts] >= 0
        counts = np.concatenate(([0], np.cumsum(touched)))
        holds = counts[windows.highs] > counts[windows.lows]
        made = new[windows.owners] & (windows.starts > merged.slices.times[windows.owners])
        return self._results(merged.slices, windows.take(holds | made), keys)

    def ended(self, slices: SliceRows, keys: pa.Array, dones: Ints, closed: int) -> Results:
        """Return the windows that have ended by `closed` and were not forwarded before.

        Args:
            slices: The slices of the windows.
            keys: The distinct keys, numbered.
            dones: For each key, the time before which its windows were forwarded, ms.
            closed: The last end of closed windows, ms.
        """
        windows = sliding_ranges(slices, self._span)
        ends = windows.starts + self._span
        over = (ends <= closed) & (ends >= dones[slices.rows[windows.owners]])
        return self._results(slices, windows.take(over), keys)

    def updates(
        self, merged: MergedSlices, keys: pa.Array, count: int
    ) -> Iterator[tuple[int, int, Placed]]:
        """Yield ranges of records (first row, row after the last) with the results of each range.

        The records of each key must be in time order: then a record changes the window that ends
        with it, and the windows that begin right after each slice in that window.

        Args:
            merged: The records and the stored slices.
            keys: The distinct keys, numbered.
            count: The number of rows of the batch.
        """
        rows = np.flatnonzero(merged.places >= 0)
        rows = rows[np.argsort(merged.places[rows])]
        own = merged.runs.of_row[rows]
        first = first_slices(merged.slices, self._span)
        counts = own - first[own] + 1
        cuts = np.searchsorted(np.cumsum(counts), np.arange(0, counts.sum(), _PAIRS_AT_ONCE))
        ends = [*np.unique(cuts).tolist()[1:], len(rows)]
        partial = None if self._form.exact else self._form.scan(merged.state, merged.runs)
        begin = low = 0
        for end in ends:
            high = int(merged.places[rows[end]]) if end < len(rows) else count
            part = slice(begin, end)
            found = self._updated(merged, keys, rows[part], first, counts[part], partial)
            yield low, high, found
            begin, low = end, high

    def _updated(
        self,
        merged: MergedSlices,
        keys: pa.Array,
        rows: Ints,
        first: Ints,
        counts: Ints,
        partial: Columns | None,
    ) -> Placed:
        """Return the windows that records change, with the row numbers of the records.

        Args:
            merged: The records and the stored slices.
            keys: The distinct keys, numbered.
            rows: The indexes of the records in `merged`.
            first: The first slice of the window that ends with each slice.
            counts: The number of windows that each record changes.
            partial: The state of each record's slice up to the record; None if the order does not
                matter.
        """
        slices, runs = merged.slices, merged.runs
        ramp = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        row = np.repeat(rows, counts)
        own = runs.of_row[row]
        low = first[own] + ramp
        starts = np.where(
            ramp == 0,
            np.maximum(slices.times[own], self._span) - self._span,
            slices.times[low - 1] + 1,
        )
        if partial is None:
            state = merged_ranges(self._form, merged.state, runs.firsts[low], row + 1)
        else:
            last = tuple(column[row] for column in partial)
            state = merged_before(self._form, slices.state, low, own, last)
        results = Results(
            keys.take(pa.array(slices.rows[own])),
            starts,
            starts + self._span,
            self._form.result(state),
            slices.times[own],
        )
        return merged.places[row], results

    def _results(self, slices: SliceRows, windows: SlidingRanges, keys: pa.Array) -> Results:
        return Results(
            keys.take(pa.array(slices.rows[windows.owners])),
            windows.starts,
            windows.starts + self._span,
            self._form.result(self._states(slices.state, windows.lows, windows.highs)),
            slices.times[windows.highs - 1],
        )

    def _states(self, state: Columns, lows: Ints, highs: Ints) -> Columns:
        if self._form.exact:
            return merged_ranges(self._form, state, lows, highs)
        last = tuple(column[highs - 1] for column in state)
        return merged_before(self._form, state, lows, highs - 1, last)
