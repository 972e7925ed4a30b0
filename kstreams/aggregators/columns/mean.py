"""The column form of `mean`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.aggregators.columns.count import CountForm
from kstreams.columns.in_order import added_up, running_sums
from kstreams.columns.running import running
from kstreams.columns.runs import Runs
from kstreams.columns.sums import added
from kstreams.columns.values import ValueColumn
from kstreams.serde.layout import Columns

__all__ = ("MeanForm",)


class MeanForm:
    """The column form of `mean`; the state is the number of values and their sum."""

    reads_values = True
    exact = False

    def lift(self, values: ValueColumn, times: npt.NDArray[np.int64]) -> Columns:
        """Return a state for each record; see `ColumnForm`."""
        numbers = values.doubles()
        return np.ones(len(numbers), np.int64), numbers

    def reduce(self, state: Columns, runs: Runs) -> Columns:
        """Return the merged state of each run of rows; see `ColumnForm`."""
        return np.add.reduceat(state[0], runs.firsts), added_up(state[1], runs)

    def scan(self, state: Columns, runs: Runs) -> Columns:
        """Return each row's state merged with the earlier states of its run; see `ColumnForm`."""
        counts = running(CountForm(), state[:1], runs)
        return *counts, running_sums(state[1], runs)

    def merge(self, earlier: Columns, later: Columns) -> Columns:
        """Merge earlier and later states row by row; see `ColumnForm`."""
        return earlier[0] + later[0], added(earlier[1], later[1])

    def result(self, state: Columns) -> pa.Array:
        """Return the results of states as an Arrow column; see `ColumnForm`."""
        return pa.array(state[1] / state[0])
