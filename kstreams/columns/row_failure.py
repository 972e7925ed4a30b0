"""A user's function that fails at one row of many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kstreams.errors import KStreamsError

__all__ = ("RowFailure", "called", "drained")


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
    return drained(map(function, *columns))


def drained(results: Iterable[Any], first: int = 0) -> list[Any]:
    """Return all results of calls, one a row.

    Args:
        results: Calls the function as it goes on.
        first: The number of its first row.

    Raises:
        RowFailure: The function raised.
    """
    found: list[Any] = []
    try:
        found.extend(results)
    except (KeyboardInterrupt, KStreamsError):
        raise
    except BaseException as exc:
        raise RowFailure(first + len(found), exc) from exc
    return found
