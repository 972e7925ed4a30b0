"""Speeds up PySpark's conversion of JVM arguments, which imports NumPy and more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from pyspark.sql.types import NumpyArrayConverter, NumpyScalarConverter

__all__ = ("spare_imports",)

_Asks = Callable[[Any, Any], bool]


def spare_imports() -> None:
    """Change PySpark so that it converts arguments without importing NumPy, unless they need it.

    Repeated calls have no effect.

    For arguments such as lists, PySpark 4.1 calls its own test helpers to check whether NumPy is
    installed. The helpers import unittest, pandas and more, which takes a second or longer.
    """
    for converter in (NumpyScalarConverter, NumpyArrayConverter):
        if not hasattr(converter.can_convert, "__wrapped__"):
            asks = _of_numpy_alone(converter.can_convert)
            converter.can_convert = asks  # type: ignore[method-assign,assignment]  # a method


def _of_numpy_alone(asks: _Asks) -> _Asks:
    def can_convert(converter: Any, argument: Any) -> bool:  # noqa: ANN401  # PySpark's, and anything
        return isinstance(argument, np.generic | np.ndarray) and asks(converter, argument)

    can_convert.__wrapped__ = asks  # type: ignore[attr-defined]  # as functools does
    return can_convert
