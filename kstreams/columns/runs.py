"""Runs of rows that belong together, one after the other."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ("Runs",)


class Runs:
    """Rows in runs; none is empty.

    Args:
        firsts: The row that each run begins with, rising from 0.
        count: How many rows there are.
    """

    def __init__(self, firsts: npt.NDArray[np.int64], count: int) -> None:
        self.firsts = firsts
        self.count = count

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """How many rows each run has."""
        return np.diff(self.firsts, append=self.count)

    @cached_property
    def lasts(self) -> npt.NDArray[np.int64]:
        """The row that each run ends with."""
        return self.firsts + self.lengths - 1

    @cached_property
    def of_row(self) -> npt.NDArray[np.int64]:
        """The run of each row."""
        return np.repeat(np.arange(len(self.firsts)), self.lengths)

    def repeat(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Give each row what its run has."""
        return np.repeat(column, self.lengths)

    def highest(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return each run's maximum."""
        return np.maximum.reduceat(column, self.firsts)
