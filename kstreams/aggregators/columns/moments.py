"""Variance over columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.aggregators.columns.runs import Runs
from kstreams.aggregators.columns.values import ValueColumn
from kstreams.serde.layout import Columns

__all__ = ("VarianceForm",)


class VarianceForm:
    """The form of `variance`: count, mean, and sum of squared distances from the mean.

    A batch takes two passes, the mean first; batches merge as by Chan, Golub and LeVeque.

    Args:
        missing: How much less than the count is divided by.
    """

    reads_values = True

    def __init__(self, missing: int) -> None:
        self._missing = missing

    def lift(self, values: ValueColumn, times: npt.NDArray[np.int64]) -> Columns:
        """See `ColumnForm`."""
        numbers = values.numbers().astype(np.float64)
        return np.ones(len(numbers), np.int64), numbers, np.zeros(len(numbers))

    def reduce(self, state: Columns, runs: Runs) -> Columns:
        """See `ColumnForm`."""
        counts, means, squares = state
        total = np.add.reduceat(counts, runs.firsts)
        mean = np.add.reduceat(means * counts, runs.firsts) / total
        away = means - runs.spread(mean)
        apart = squares + away * away * counts
        return total, mean, np.add.reduceat(apart, runs.firsts)

    def merge(self, earlier: Columns, later: Columns) -> Columns:
        """See `ColumnForm`."""
        count = earlier[0] + later[0]
        away = later[1] - earlier[1]
        mean = earlier[1] + away * later[0] / count
        apart = away * away * earlier[0] * later[0] / count
        return count, mean, earlier[2] + later[2] + apart

    def result(self, state: Columns) -> pa.Array:
        """See `ColumnForm`."""
        divisor = state[0] - self._missing
        safe = np.where(divisor == 0, 1, divisor)
        return pa.array(np.where(divisor == 0, np.nan, state[2] / safe), from_pandas=False)
