"""Counts and sums: what adds up."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.columns.in_order import added_up, running_sums
from kstreams.columns.running import AnyOrder, running
from kstreams.columns.runs import Runs
from kstreams.columns.values import ValueColumn
from kstreams.errors import SerializationError
from kstreams.serde.layout import Columns

__all__ = ("CountForm", "MeanForm", "SumForm", "added", "integers", "totals")

_LIMIT = 1 << 63


def added(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Add two columns; beyond int64 as Python's integers."""
    with np.errstate(over="ignore", invalid="ignore"):
        total: npt.NDArray[Any] = one + other
    if total.dtype.kind == "i" and np.any(((one ^ total) & (other ^ total)) < 0):
        total = one.astype(object) + other.astype(object)
    return total


def totals(column: npt.NDArray[Any], runs: Runs) -> npt.NDArray[Any]:
    """Return the sum of each run; integers beyond int64 as Python's, doubles in their order."""
    if column.dtype.kind == "f":
        return added_up(column, runs)
    if column.dtype.kind == "i" and runs.count:
        largest = max(abs(int(column.min())), abs(int(column.max())))
        if largest * int(runs.lengths.max()) >= _LIMIT:
            column = column.astype(object)
    found: npt.NDArray[Any] = np.add.reduceat(column, runs.firsts)
    return found


def integers(column: npt.NDArray[Any]) -> pa.Array:
    """Return a column of int64, or a `SerializationError` if one is none."""
    try:
        return pa.array(column, pa.int64())
    except (pa.ArrowException, OverflowError) as exc:
        raise SerializationError(f"expected int64: {exc}") from exc


class CountForm(AnyOrder):
    """The form of `count`."""

    reads_values = False

    def lift(self, values: ValueColumn, times: npt.NDArray[np.int64]) -> Columns:
        """See `ColumnForm`."""
        return (np.ones(len(times), np.int64),)

    def reduce(self, state: Columns, runs: Runs) -> Columns:
        """See `ColumnForm`."""
        return (np.add.reduceat(state[0], runs.firsts),)

    def merge(self, earlier: Columns, later: Columns) -> Columns:
        """See `ColumnForm`."""
        return (earlier[0] + later[0],)

    def result(self, state: Columns) -> pa.Array:
        """See `ColumnForm`."""
        return pa.array(state[0])


class SumForm:
    """The form of `sum_`.

    Args:
        floats: Whether sums are doubles.
    """

    reads_values = True

    def __init__(self, *, floats: bool) -> None:
        self.exact = not floats
        self._floats = floats

    def lift(self, values: ValueColumn, times: npt.NDArray[np.int64]) -> Columns:
        """See `ColumnForm`."""
        numbers = values.numbers()
        return (numbers + 0.0 if self._floats else numbers,)  # no sum is -0.0

    def reduce(self, state: Columns, runs: Runs) -> Columns:
        """See `ColumnForm`."""
        return (totals(state[0], runs),)

    def scan(self, state: Columns, runs: Runs) -> Columns:
        """See `ColumnForm`."""
        return (running_sums(state[0], runs),) if self._floats else running(self, state, runs)

    def merge(self, earlier: Columns, later: Columns) -> Columns:
        """See `ColumnForm`."""
        return (added(_wide(earlier[0]), _wide(later[0])),)

    def result(self, state: Columns) -> pa.Array:
        """See `ColumnForm`."""
        return pa.array(state[0]) if self._floats else integers(state[0])


class MeanForm:
    """The form of `mean`: how many, and their sum."""

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


def _wide(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return column.astype(np.int64) if column.dtype == np.int32 else column
