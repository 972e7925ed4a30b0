"""The column form of `sum_`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.columns.in_order import running_sums
from kstreams.columns.running import running
from kstreams.columns.runs import Runs
from kstreams.columns.sums import added, integers, totals
from kstreams.columns.values import ValueColumn, wide
from kstreams.serde.layout import Columns

__all__ = ("SumForm",)


class SumForm:
    """The column form of `sum_`.

    Args:
        floats: Whether sums are doubles.
    """

    reads_values = True

    def __init__(self, *, floats: bool) -> None:
        self.exact = not floats
        self._floats = floats

    def lift(self, values: ValueColumn, times: npt.NDArray[np.int64]) -> Columns:
        """Return a state for each record; see `ColumnForm`."""
        return (values.doubles() if self._floats else values.numbers(),)  # no sum is -0.0

    def reduce(self, state: Columns, runs: Runs) -> Columns:
        """Return the merged state of each run of rows; see `ColumnForm`."""
        return (totals(state[0], runs),)

    def scan(self, state: Columns, runs: Runs) -> Columns:
        """Return each row's state merged with the earlier states of its run; see `ColumnForm`."""
        return (running_sums(state[0], runs),) if self._floats else running(self, state, runs)

    def merge(self, earlier: Columns, later: Columns) -> Columns:
        """Merge earlier and later states row by row; see `ColumnForm`."""
        return (added(wide(earlier[0]), wide(later[0])),)

    def result(self, state: Columns) -> pa.Array:
        """Return the results of states as an Arrow column; see `ColumnForm`."""
        return pa.array(state[0]) if self._floats else integers(state[0])
