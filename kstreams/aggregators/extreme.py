"""Keep the smallest or the greatest value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kstreams.aggregators.aggregator import Aggregator
from kstreams.aggregators.columns.extreme import ExtremeForm
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.aggregators.columns.reduce import reducing_form
from kstreams.columns.values import is_number
from kstreams.record import Record
from kstreams.serde.base import Serde

__all__ = ("Extreme", "max_", "min_")

V = TypeVar("V", int, float, str, bytes, bool)
"""Type of the values."""


@dataclass(frozen=True)
class Extreme(Generic[V]):
    """Keeps the smallest or the greatest value; NaN is kept only if all values are NaN."""

    state: Serde[V]
    greatest: bool = field(kw_only=True)

    @property
    def identity(self) -> str:
        """Return the identity that is recorded with states."""
        return self.name

    @property
    def name(self) -> str:
        """Return the aggregator's part of stored names."""
        return "max" if self.greatest else "min"

    def init(self, record: Record[Any, V]) -> V:
        """Return the value of the record."""
        return record.value

    def add(self, state: V, record: Record[Any, V]) -> V:
        """Return the smaller or the greater of the state and the record's value."""
        return self.merge(state, record.value)

    def merge(self, earlier: V, later: V) -> V:
        """Return the smaller or the greater of two states; of equal states, the earlier one."""
        further = later > earlier if self.greatest else later < earlier
        return later if further or earlier != earlier else earlier  # NaN

    def result(self, state: V) -> V:
        """Return the state, which is the smallest or the greatest value."""
        return state

    def columns(self, value: Serde[Any]) -> ColumnForm | None:
        """Return the column form, for numbers, text and bools; None for other values."""
        if not is_number(self.state):
            return reducing_form(self.merge, self.state, value)
        floats = not is_number(self.state, whole=True)
        if not is_number(value, whole=not floats):
            return None
        return ExtremeForm(greatest=self.greatest, floats=floats)


def min_(value: Serde[V]) -> Aggregator[object, V, V, V]:
    """Keep the smallest value; of equal values the first. NaN is kept only if all values are NaN.

    Args:
        value: Serde of the values.
    """
    return Extreme(value, greatest=False)


def max_(value: Serde[V]) -> Aggregator[object, V, V, V]:
    """Keep the greatest value; of equal values the first. NaN is kept only if all values are NaN.

    Args:
        value: Serde of the values.
    """
    return Extreme(value, greatest=True)
