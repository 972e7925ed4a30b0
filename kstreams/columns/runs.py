"""Runs: consecutive rows that belong together."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ("Runs",)


class Runs:
    """Rows divided into consecutive, nonempty runs.

    Args:
        firsts: The row number of each run's first row, ascending from 0.
        count: The number of rows.
    """

    def __init__(self, firsts: npt.NDArray[np.int64], count: int) -> None:
        self.firsts = firsts
        self.count = count

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of rows of each run."""
        return np.diff(self.firsts, append=self.count)

    @cached_property
    def lasts(self) -> npt.NDArray[np.int64]:
        """The row number of each run's last row."""
        return self.firsts + self.lengths - 1

    @cached_property
    def of_row(self) -> npt.NDArray[np.int64]:
        """The run number of each row."""
        return np.repeat(np.arange(len(self.firsts)), self.lengths)

    def repeat(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Repeat each run's value for all of its rows."""
        return np.repeat(column, self.lengths)

    def highest(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the maximum of the column in each run."""
        return np.maximum.reduceat(column, self.firsts)
