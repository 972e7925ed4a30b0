"""Type variables and column types that many modules use."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ("K2", "V2", "Bools", "Ints", "K", "Objects", "S", "V")

K = TypeVar("K")
"""The type of keys; the type of input keys if output keys have another type."""
V = TypeVar("V")
"""The type of values; the type of input values if output values have another type."""
K2 = TypeVar("K2")
"""Type of the keys that are forwarded."""
V2 = TypeVar("V2")
"""Type of the values that are forwarded."""
S = TypeVar("S")
"""Type of the state."""

Ints = npt.NDArray[np.int64]
"""A column of integers, such as times in ms; no nulls."""
Bools = npt.NDArray[np.bool_]
"""A column of truth values, such as a selection of rows."""
Objects = npt.NDArray[np.object_]
"""A column of Python objects."""
