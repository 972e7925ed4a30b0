"""Running aggregates: the state after each row instead of the state after all rows."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from kstreams.columns.runs import Runs
from kstreams.serde.layout import Columns

__all__ = ("Merging", "replaced", "running")

_Array = npt.NDArray[Any]


class Merging(Protocol):
    """An object that merges states, such as the columnar form of an aggregator."""

    def merge(self, earlier: Columns, later: Columns) -> Columns:
        """Merge the states of two columns row by row."""
        ...


def running(form: Merging, state: Columns, runs: Runs) -> Columns:
    """Return the state of each row merged with all earlier rows of its run.

    Source: Hillis and Steele's parallel scan (1986). The number of steps is the number of binary
    digits of the longest run's length.
    """
    rank = np.arange(runs.count) - runs.repeat(runs.firsts)
    longest = int(runs.lengths.max()) if runs.count else 0
    step = 1
    while step < longest:
        rows = np.flatnonzero(rank >= step)
        merged = form.merge(
            tuple(column[rows - step] for column in state), tuple(column[rows] for column in state)
        )
        state = tuple(
            replaced(column, rows, new) for column, new in zip(state, merged, strict=True)
        )
        step *= 2
    return state


def replaced(column: _Array, rows: _Array, new: _Array) -> _Array:
    """Return a column with new values in the given rows.

    The result consists of Python integers if the column or the new values do.
    """
    kind = object if "O" in (column.dtype.kind, new.dtype.kind) else column.dtype
    found = column.astype(kind)
    found[rows] = new
    return found
