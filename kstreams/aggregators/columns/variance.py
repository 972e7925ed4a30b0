"""The column form of `variance`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.columns.in_order import scanned
from kstreams.columns.runs import Runs
from kstreams.columns.values import ValueColumn
from kstreams.serde.layout import Columns

__all__ = ("VarianceForm",)

_FEW = 64
"""At most this number of runs is processed one run after another."""


class VarianceForm:
    """The column form of `variance`; the state is count, mean, and sum of squared deviations.

    Each record is merged as a separate state, with the formula of Chan, Golub and LeVeque.

    Args:
        missing: The number that is subtracted from the count in the divisor.
    """

    reads_values = True
    exact = False

    def __init__(self, missing: int) -> None:
        self._missing = missing

    def lift(self, values: ValueColumn, times: npt.NDArray[np.int64]) -> Columns:
        """Return a state for each record; see `ColumnForm`."""
        numbers = values.doubles()
        return np.ones(len(numbers), np.int64), numbers, np.zeros(len(numbers))

    def reduce(self, state: Columns, runs: Runs) -> Columns:
        """Return the merged state of each run of rows; see `ColumnForm`."""
        found = tuple(column[runs.firsts] for column in state)
        with np.errstate(over="ignore", invalid="ignore"):
            _take_all(found, state[1], runs)
        return found

    def scan(self, state: Columns, runs: Runs) -> Columns:
        """Return each row's state merged with the earlier states of its run; see `ColumnForm`."""
        return scanned(_merged, state, runs)

    def merge(self, earlier: Columns, later: Columns) -> Columns:
        """Merge earlier and later states row by row; see `ColumnForm`."""
        with np.errstate(over="ignore", invalid="ignore"):
            found: Columns = _merged(earlier, later)
        return found

    def result(self, state: Columns) -> pa.Array:
        """Return the results of states as an Arrow column; see `ColumnForm`."""
        divisor = state[0] - self._missing
        safe = np.where(divisor == 0, 1, divisor)
        return pa.array(np.where(divisor == 0, np.nan, state[2] / safe), from_pandas=False)


def _merged(earlier: Any, later: Any) -> Any:  # noqa: ANN401  # columns, or single numbers
    count = earlier[0] + later[0]
    away = later[1] - earlier[1]
    mean = earlier[1] + away * later[0] / count
    apart = away * away * earlier[0] * later[0] / count
    return count, mean, earlier[2] + later[2] + apart


def _take_all(found: Columns, values: npt.NDArray[np.float64], runs: Runs) -> None:
    """Add the values of each run's rows, except its first row, to the run's state, in order.

    While more than `_FEW` runs have rows left, each step adds one row of each of these runs. Then
    the rows that are left are added run by run.

    Args:
        found: The states of the runs' first rows; changed in place.
        values: The values of all rows.
        runs: The division of the rows into runs.
    """
    order = np.argsort(-runs.lengths, kind="stable")
    firsts, lengths = runs.firsts[order], runs.lengths[order]
    counts, means, squares = (column[order] for column in found)
    step, more = 1, int(np.searchsorted(-lengths, -1))
    while more > _FEW:
        away = values[firsts[:more] + step] - means[:more]
        before = counts[:more].copy()
        counts[:more] += 1
        means[:more] += away / counts[:more]
        squares[:more] += away * away * before / counts[:more]
        step += 1
        more = int(np.searchsorted(-lengths, -step))
    for run in range(more):
        place = slice(int(firsts[run]) + step, int(firsts[run] + lengths[run]))
        state = int(counts[run]), float(means[run]), float(squares[run])
        counts[run], means[run], squares[run] = _taken(*state, values[place].tolist())
    for column, new in zip(found, (counts, means, squares), strict=True):
        column[order] = new


def _taken(
    count: int, mean: float, squares: float, values: list[float]
) -> tuple[int, float, float]:
    for value in values:
        before, count = count, count + 1
        away = value - mean
        mean += away / count
        squares += away * away * before / count
    return count, mean, squares
