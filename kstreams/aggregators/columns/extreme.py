"""The column form of `min_` and `max_`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.aggregators.columns.form import AnyOrder
from kstreams.columns.runs import Runs
from kstreams.columns.sums import integers
from kstreams.columns.values import ValueColumn, wide
from kstreams.serde.layout import Columns

__all__ = ("ExtremeForm",)


class ExtremeForm(AnyOrder):
    """The column form of `min_` and `max_`; NaN is kept only if all values are NaN.

    Of equal values, such as 0.0 and -0.0, the first is kept.

    Args:
        greatest: Whether to keep the greatest value instead of the smallest.
        floats: Whether states are doubles.
    """

    reads_values = True

    def __init__(self, *, greatest: bool, floats: bool) -> None:
        self._pick: np.ufunc = np.fmax if greatest else np.fmin
        self._floats = floats

    def lift(self, values: ValueColumn, times: npt.NDArray[np.int64]) -> Columns:
        """Return a state for each record; see `ColumnForm`."""
        numbers = values.numbers()
        return (numbers.astype(np.float64) if self._floats else numbers,)

    def reduce(self, state: Columns, runs: Runs) -> Columns:
        """Return the merged state of each run of rows; see `ColumnForm`."""
        values = state[0]
        found = self._pick.reduceat(values, runs.firsts)
        zeros = found == 0
        if self._floats and zeros.any():  # numpy picks any of 0.0 and -0.0
            rows = np.where(values == 0, np.arange(runs.count), runs.count)
            found[zeros] = values[np.minimum.reduceat(rows, runs.firsts)[zeros]]
        return (found,)

    def merge(self, earlier: Columns, later: Columns) -> Columns:
        """Merge earlier and later states row by row; see `ColumnForm`."""
        found = self._pick(earlier[0], later[0])
        return (np.where(earlier[0] == later[0], earlier[0], found) if self._floats else found,)

    def result(self, state: Columns) -> pa.Array:
        """Return the results of states as an Arrow column; see `ColumnForm`."""
        return pa.array(state[0]) if self._floats else integers(wide(state[0]))
