"""The column form of `first` and `last`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.aggregators.columns.form import AnyOrder
from kstreams.columns.runs import Runs
from kstreams.columns.sums import integers
from kstreams.columns.values import ValueColumn, wide
from kstreams.serde.layout import Columns

__all__ = ("EdgeForm",)


class EdgeForm(AnyOrder):
    """The column form of `first` and `last`; the state is the time and the value of one record.

    Args:
        latest: Whether to keep the last record by time and arrival instead of the first.
        floats: Whether values are doubles.
    """

    reads_values = True

    def __init__(self, *, latest: bool, floats: bool) -> None:
        self._latest = latest
        self._floats = floats

    def lift(self, values: ValueColumn, times: npt.NDArray[np.int64]) -> Columns:
        """Return a state for each record; see `ColumnForm`."""
        numbers = values.numbers()
        return times, numbers.astype(np.float64) if self._floats else numbers

    def reduce(self, state: Columns, runs: Runs) -> Columns:
        """Return the merged state of each run of rows; see `ColumnForm`."""
        times = state[0]
        rows = np.arange(runs.count)
        if self._latest:
            edge = np.maximum.reduceat(times, runs.firsts)
            here = np.where(times == runs.repeat(edge), rows, -1)
            chosen = np.maximum.reduceat(here, runs.firsts)
        else:
            edge = np.minimum.reduceat(times, runs.firsts)
            here = np.where(times == runs.repeat(edge), rows, runs.count)
            chosen = np.minimum.reduceat(here, runs.firsts)
        return edge, state[1][chosen]

    def merge(self, earlier: Columns, later: Columns) -> Columns:
        """Merge earlier and later states row by row; see `ColumnForm`."""
        one, other = earlier[0], later[0]
        keeps = one > other if self._latest else one <= other
        return np.where(keeps, earlier[0], later[0]), np.where(keeps, earlier[1], later[1])

    def result(self, state: Columns) -> pa.Array:
        """Return the results of states as an Arrow column; see `ColumnForm`."""
        return pa.array(state[1]) if self._floats else integers(wide(state[1]))
