"""Merge states in the order of their rows, as record-by-record aggregation does.

Sums of doubles depend on the order. Because these functions keep the order of the rows, aggregation
by columns and by records gives bit-identical results, however a stream is split into batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from kstreams._types import Ints
from kstreams.columns.row_failure import RowFailure
from kstreams.columns.running import replaced
from kstreams.columns.runs import Runs
from kstreams.serde.layout import Columns

__all__ = ("added_up", "running_sums", "scanned", "seeded")

_SHORT_RUN_ROWS = 64
"""The maximum number of rows of a short run. A run is the consecutive rows of one key.

Each longer run is processed alone; the short runs are processed together.
"""

_Doubles = npt.NDArray[np.float64]


def added_up(column: _Doubles, runs: Runs) -> _Doubles:
    """Return the sum of each run's doubles, from left to right."""
    found: Any = np.bincount(runs.of_row, column, len(runs.firsts))
    sums: _Doubles = found
    return sums


def running_sums(column: _Doubles, runs: Runs) -> _Doubles:
    """Return, for each row, the sum of its run's doubles from the first up to this row."""
    found: _Doubles = column.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in _steps(runs):
            found[rows] += found[rows - 1]
        for place in _long_runs(runs):
            np.add.accumulate(column[place], out=found[place])
    return found


def scanned(merge: Callable[[Any, Any], Any], state: Columns, runs: Runs) -> Columns:
    """Return each row's state merged with the earlier states of its run, from left to right.

    Args:
        merge: Merges states row by row: columns of many rows, or tuples of numbers for one row.
        state: The state of each row.
        runs: The division of the rows into runs.
    """
    found = tuple(column.copy() for column in state)
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in _steps(runs):
            merged = merge(
                tuple(column[rows - 1] for column in found), tuple(column[rows] for column in state)
            )
            for column, new in zip(found, merged, strict=True):
                column[rows] = new
    for place in _long_runs(runs):
        each = accumulate(zip(*(column[place].tolist() for column in state), strict=True), merge)
        for column, new in zip(found, zip(*each, strict=True), strict=True):
            column[place] = new
    return found


def seeded(
    merge: Callable[[Any, Any], Any], state: Columns, runs: Runs, before: Columns, places: Ints
) -> Columns:
    """Return the states after merging an earlier state into the first row of selected runs.

    Args:
        merge: Merges states row by row.
        state: The states of the runs' rows.
        runs: The division of the rows into runs.
        before: The earlier states.
        places: The run number of each earlier state, without duplicates.

    Raises:
        RowFailure: A user's function raised at one of the rows.
    """
    if not len(places):
        return state
    rows = runs.firsts[places]
    try:
        merged = merge(before, tuple(column[rows] for column in state))
    except RowFailure as failure:
        raise RowFailure(int(rows[failure.row]), failure.reason) from failure.reason
    return tuple(replaced(column, rows, new) for column, new in zip(state, merged, strict=True))


def _steps(runs: Runs) -> Iterator[Ints]:
    """Yield the second rows of all short runs, then their third rows, and so on."""
    short = np.flatnonzero(runs.lengths <= _SHORT_RUN_ROWS)
    order = short[np.argsort(-runs.lengths[short], kind="stable")]
    firsts, shorter = runs.firsts[order], -runs.lengths[order]
    for step in range(1, -int(shorter[0]) if len(shorter) else 0):
        yield firsts[: np.searchsorted(shorter, -step)] + step


def _long_runs(runs: Runs) -> Iterator[slice]:
    for run in np.flatnonzero(runs.lengths > _SHORT_RUN_ROWS).tolist():
        first = int(runs.firsts[run])
        yield slice(first, first + int(runs.lengths[run]))
