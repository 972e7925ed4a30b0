"""Sums of columns: integers are exact, and doubles are added in row order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.columns.in_order import added_up
from kstreams.columns.runs import Runs
from kstreams.errors import SerializationError

__all__ = ("added", "integers", "totals")

_LIMIT = 1 << 63


def added(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Add two columns row by row; the result has Python integers if int64 would overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        total: npt.NDArray[Any] = one + other
    if total.dtype.kind == "i" and np.any(((one ^ total) & (other ^ total)) < 0):
        total = one.astype(object) + other.astype(object)
    return total


def totals(column: npt.NDArray[Any], runs: Runs) -> npt.NDArray[Any]:
    """Return the sum of each run; Python integers if int64 would overflow."""
    if column.dtype.kind == "f":
        return added_up(column, runs)
    if column.dtype.kind == "i" and runs.count:
        largest = max(abs(int(column.min())), abs(int(column.max())))
        if largest * int(runs.lengths.max()) >= _LIMIT:
            column = column.astype(object)
    found: npt.NDArray[Any] = np.add.reduceat(column, runs.firsts)
    return found


def integers(column: npt.NDArray[Any]) -> pa.Array:
    """Convert a column to an Arrow array of int64.

    Raises:
        SerializationError: A number is outside the range of int64.
    """
    try:
        return pa.array(column, pa.int64())
    except (pa.ArrowException, OverflowError) as exc:
        raise SerializationError(f"a number is outside the range of int64: {exc}") from exc
