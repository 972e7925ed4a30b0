"""The column form of `count`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.aggregators.columns.form import AnyOrder
from kstreams.columns.runs import Runs
from kstreams.columns.values import ValueColumn
from kstreams.serde.layout import Columns

__all__ = ("CountForm",)


class CountForm(AnyOrder):
    """The column form of `count`."""

    reads_values = False

    def lift(self, values: ValueColumn, times: npt.NDArray[np.int64]) -> Columns:
        """Return a state for each record; see `ColumnForm`."""
        return (np.ones(len(times), np.int64),)

    def reduce(self, state: Columns, runs: Runs) -> Columns:
        """Return the merged state of each run of rows; see `ColumnForm`."""
        return (np.add.reduceat(state[0], runs.firsts),)

    def merge(self, earlier: Columns, later: Columns) -> Columns:
        """Merge earlier and later states row by row; see `ColumnForm`."""
        return (earlier[0] + later[0],)

    def result(self, state: Columns) -> pa.Array:
        """Return the results of states as an Arrow column; see `ColumnForm`."""
        return pa.array(state[0])
