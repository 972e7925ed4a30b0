"""Call a user's function for many rows, and report the row at which it fails."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from operator import length_hint
from typing import Any

__all__ = ("RowFailure", "RowsFunction", "called", "combined", "folded")

_OF_MANY: tuple[Callable[..., Any], ...] = (max, min)
"""Builtins that compare the same pairs in the same order if they get all rows in one call."""


class RowFailure(Exception):
    """A user's function raised at a row; the caller adds the record to the error.

    Attributes:
        row: The row's number.
        reason: The exception that the function raised.
    """

    def __init__(self, row: int, reason: BaseException) -> None:
        super().__init__(row)
        self.row = row
        self.reason = reason


class RowsFunction(ABC):
    """Base class of functions that can compute their results for many rows at once."""

    @abstractmethod
    def rows(self, *columns: Sequence[Any]) -> list[Any]:
        """Return the result for each row, equal to that of a call.

        Args:
            columns: The arguments.

        Raises:
            RowFailure: The function raised at a row.
        """


def called(function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
    """Return the results of a function for each row; a `RowsFunction` computes them at once.

    Raises:
        RowFailure: The function raised at a row.
    """
    given: object = function
    if isinstance(given, RowsFunction):
        return given.rows(*columns)
    rows = iter(columns[0])
    try:
        if len(columns) == 1:
            return [function(item) for item in rows]
        return [function(*row) for row in zip(rows, *columns[1:], strict=True)]
    except KeyboardInterrupt:
        raise
    except BaseException as exc:
        row = len(columns[0]) - length_hint(rows) - 1
        raise RowFailure(row, exc) from exc


def combined(function: Callable[[Any, Any], Any], rows: Sequence[Any], first: int) -> list[Any]:
    """Return the running results of a function over rows, as `itertools.accumulate` does.

    Args:
        function: Combines two rows.
        rows: The rows, at least one; the first result is the first row.
        first: The number of the first row.

    Raises:
        RowFailure: The function raised at a row.
    """
    state = rows[0]
    states = [state]
    try:
        for row in rows[1:]:
            state = function(state, row)
            states.append(state)
    except KeyboardInterrupt:
        raise
    except BaseException as exc:
        raise RowFailure(first + len(states), exc) from exc
    return states


def folded(function: Callable[..., Any], rows: Sequence[Any], first: int) -> Any:  # noqa: ANN401
    """Return the result of a function over all rows: the last result of `combined`.

    Raises:
        RowFailure: The function raised at a row.
    """
    left = iter(rows)
    try:
        at_once = any(function is known for known in _OF_MANY)
        return function(left) if at_once else reduce(function, left)
    except KeyboardInterrupt:
        raise
    except BaseException as exc:
        raise RowFailure(first + len(rows) - length_hint(left) - 1, exc) from exc
