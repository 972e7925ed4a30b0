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
        """See `ColumnForm`."""
        numbers = values.numbers() + 0.0
        return np.ones(len(numbers), np.int64), numbers

    def reduce(self, state: Columns, runs: Runs) -> Columns:
        """See `ColumnForm`."""
        return np.add.reduceat(state[0], runs.firsts), added_up(state[1], runs)

    def scan(self, state: Columns, runs: Runs) -> Columns:
        """See `ColumnForm`."""
        counts = running(CountForm(), state[:1], runs)
        return *counts, running_sums(state[1], runs)

    def merge(self, earlier: Columns, later: Columns) -> Columns:
        """See `ColumnForm`."""
        return earlier[0] + later[0], added(earlier[1], later[1])

    def result(self, state: Columns) -> pa.Array:
        """See `ColumnForm`."""
        return pa.array(state[1] / state[0])
