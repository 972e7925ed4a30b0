"""Limits for the number of values in one state."""

from __future__ import annotations

from collections.abc import Sized
from typing import TypeVar

from kstreams.errors import ProcessingError

__all__ = ("MAX_VALUES", "checked_limit", "within")

MAX_VALUES = 50_000
"""The default limit for the values in one state.

A state is copied for each record, and written whole once a batch: the last of so many values
costs about 1 ms, and all of them together 20 s.
"""

T = TypeVar("T", bound=Sized)
"""Type of the state."""


def checked_limit(max_values: int) -> int:
    """Return a limit; a `ValueError` when it is below 1."""
    if max_values < 1:
        raise ValueError(f"max_values is {max_values}, expected 1 or more")
    return max_values


def within(state: T, most: int, *, otherwise: str = "") -> T:
    """Return a state, or raise a `ProcessingError` if it keeps too many values."""
    if len(state) > most:
        raise ProcessingError(
            f"the state of a key would keep {len(state):,} values, and {most:,} is the most",
            hint=f"raise max_values, or aggregate by shorter windows{otherwise}.",
        )
    return state
