"""Limits of the number of values in a state."""

from __future__ import annotations

from collections.abc import Sized
from typing import TypeVar

from kstreams.errors import ProcessingError

__all__ = ("MAX_VALUES", "checked_limit", "within")

MAX_VALUES = 50_000
"""The default maximum number of values in a state.

A state is copied for each record, and written as a whole once per batch: at this size, adding one
value takes about 1 ms, and adding all values takes 20 s in total.
"""

T = TypeVar("T", bound=Sized)
"""Type of the state."""


def checked_limit(max_values: int) -> int:
    """Return the given maximum number of values; raises `ValueError` if it is below 1."""
    if max_values < 1:
        raise ValueError(f"max_values is {max_values}, expected 1 or more")
    return max_values


def within(state: T, most: int, *, otherwise: str = "") -> T:
    """Return the given state; raises `ProcessingError` if it has more than `most` values.

    Args:
        state: The values that an aggregator keeps.
        most: The maximum number of values.
        otherwise: Text about an alternative, which is appended to the hint of the error.
    """
    if len(state) > most:
        raise ProcessingError(
            f"the state of a key would keep {len(state):,} values, more than {most:,}",
            hint=f"raise max_values, or aggregate by shorter windows{otherwise}.",
        )
    return state
