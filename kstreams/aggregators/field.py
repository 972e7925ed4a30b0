"""Read a field of each value by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from kstreams.serde.base import Serde

__all__ = ("Field", "field")

N = TypeVar("N", int, float)
"""Type of the field."""


@dataclass(frozen=True)
class Field(Generic[N]):
    """Reads a field of a value; created by `field`."""

    name: str
    number: Serde[N]

    def __call__(self, value: object) -> N:
        """Return the field of a value: the item of a dict, or an attribute."""
        found: N = value[self.name] if isinstance(value, dict) else getattr(value, self.name)
        return found


def field(name: str, number: Serde[N]) -> Field[N]:
    """Return a function that reads a number from each value, for `over`.

    Columnar aggregation decodes no other field of a value.

    Args:
        name: Name of the attribute, or the key in a dict.
        number: `INT64`, `INT32` or `DOUBLE`: the type of the field.

    Example:
        >>> from kstreams import DOUBLE
        >>> from kstreams.aggregators import field, over, sum_
        >>> revenue = over(field("price", DOUBLE), sum_(DOUBLE))
    """
    return Field(name, number)
