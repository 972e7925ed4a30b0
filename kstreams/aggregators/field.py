"""Read a field of each value by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kstreams.columns.values import ValueColumn, is_number
from kstreams.expressions.computation import PartComputation, field_identity
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

    @property
    def identity(self) -> str:
        """A text that identifies the function; recorded with states to detect changes."""
        return field_identity(self.name)

    def computation(self, values: Serde[Any]) -> PartComputation | str:
        """Return the computation that reads the field from columns, or why there is none."""
        if not is_number(self.number):
            return f"expected a serde of numbers, got {self.number.name}"
        return _Reading(self.name, self.number)


@dataclass(frozen=True)
class _Reading:
    name: str
    serde: Serde[Any]

    def column(self, values: ValueColumn) -> ValueColumn:
        return values.field(self.name, self.serde)


def field(name: str, number: Serde[N]) -> Field[N]:
    """Return a function that reads a number from each value, for `over`.

    Columnar aggregation decodes no other field of a value. For objects of a class, prefer
    `columns(lambda value: value.price)`, which type checkers check; `field` is for dicts, and for
    serdes that do not declare the types of fields.

    Args:
        name: Name of the attribute, or the key in a dict.
        number: `INT64`, `INT32` or `DOUBLE`: the type of the field.

    Example:
        >>> from kstreams import DOUBLE
        >>> from kstreams.aggregators import field, over, sum_
        >>> revenue = over(field("price", DOUBLE), sum_(DOUBLE))
    """
    return Field(name, number)
