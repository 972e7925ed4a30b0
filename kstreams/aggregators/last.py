"""Keep the last value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kstreams.aggregators.aggregator import Aggregator
from kstreams.aggregators.columns.extremes import EdgeForm
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.aggregators.columns.values import is_number
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.stamped import StampedSerde

__all__ = ("last",)

V = TypeVar("V")
"""Type of the values."""


def last(value: Serde[V]) -> Aggregator[object, V, tuple[V, int], V]:
    """Keep the value with the latest timestamp; of equal times the last to arrive.

    Args:
        value: Serde of the values.
    """
    return _Last(StampedSerde(value))


@dataclass(frozen=True)
class _Last(Generic[V]):
    state: StampedSerde[V]

    def init(self, record: Record[Any, V]) -> tuple[V, int]:
        return record.value, record.timestamp

    def add(self, state: tuple[V, int], record: Record[Any, V]) -> tuple[V, int]:
        return state if record.timestamp < state[1] else (record.value, record.timestamp)

    def merge(self, earlier: tuple[V, int], later: tuple[V, int]) -> tuple[V, int]:
        return later if later[1] >= earlier[1] else earlier

    def result(self, state: tuple[V, int]) -> V:
        return state[0]

    def columns(self, value: Serde[Any]) -> ColumnForm | None:
        own = self.state.parts[0]
        floats = not is_number(own, whole=True)
        if not (is_number(own) and is_number(value, whole=not floats)):
            return None
        return EdgeForm(latest=True, floats=floats)
