"""Keep the greatest value."""

from __future__ import annotations

from typing import TypeVar

from kstreams.aggregators.aggregator import Aggregator
from kstreams.aggregators.extreme import Extreme
from kstreams.serde.base import Serde

__all__ = ("max_",)

V = TypeVar("V", int, float, str, bytes, bool)
"""Type of the values."""


def max_(value: Serde[V]) -> Aggregator[object, V, V, V]:
    """Keep the greatest value; of equal ones the first, and NaN only among NaN.

    Args:
        value: Serde of the values.
    """
    return Extreme(value, greatest=True)
