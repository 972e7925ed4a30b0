"""A user's function that fails at one row of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import length_hint
from typing import Any

__all__ = ("RowFailure", "called", "combined", "folded")

_OF_MANY: tuple[Callable[..., Any], ...] = (max, min)
"""Functions that compare the same pairs in the same order if they are given all at once."""


class RowFailure(Exception):
    """What a function raised at a row; whoever knows the rows' records makes an error of it.

    Attributes:
        row: The row's number.
        reason: What was raised.
    """

    def __init__(self, row: int, reason: BaseException) -> None:
        super().__init__(row)
        self.row = row
        self.reason = reason


def called(function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
    """Return what a function makes of each row.

    Raises:
        RowFailure: It raised.
    """
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
    """Return what a function makes of the first rows, one more at a time: the first is as it is.

    Args:
        function: Combines two.
        rows: One at least.
        first: The number of the first.

    Raises:
        RowFailure: It raised.
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
    """Return what a function makes of all rows: the last of what `combined` returns.

    Raises:
        RowFailure: It raised.
    """
    left = iter(rows)
    try:
        at_once = any(function is known for known in _OF_MANY)
        return function(left) if at_once else reduce(function, left)
    except KeyboardInterrupt:
        raise
    except BaseException as exc:
        raise RowFailure(first + len(rows) - length_hint(left) - 1, exc) from exc
