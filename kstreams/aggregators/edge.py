"""Keep the first or the last value, by timestamp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Generic

from kstreams._types import V
from kstreams.aggregators.aggregator import Aggregator
from kstreams.aggregators.columns.edge import EdgeForm
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.columns.values import is_number
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.stamped import StampedSerde

__all__ = ("Edge", "first", "last")


@dataclass(frozen=True)
class Edge(Generic[V]):
    """Base class of `first` and `last`; subclasses choose which of two values is kept.

    Attributes:
        latest: Whether the value with the latest time is kept; used by the column form.
        state: Serde of the value and its time.
    """

    latest: ClassVar[bool]
    state: StampedSerde[V]

    def init(self, record: Record[Any, V]) -> tuple[V, int]:
        """Return the value and time of the record."""
        return record.value, record.timestamp

    def result(self, state: tuple[V, int]) -> V:
        """Return the value of the state, without its time."""
        return state[0]

    def columns(self, value: Serde[Any]) -> ColumnForm | None:
        """Return the column form; None if the values are not numbers."""
        own = self.state.parts[0]
        floats = not is_number(own, whole=True)
        if not (is_number(own) and is_number(value, whole=not floats)):
            return None
        return EdgeForm(latest=self.latest, floats=floats)


def first(value: Serde[V]) -> Aggregator[object, V, tuple[V, int], V]:
    """Keep the value with the earliest timestamp; among equal times, the first to arrive.

    Args:
        value: Serde of the values.
    """
    return _First(StampedSerde(value))


class _First(Edge[V]):
    identity: ClassVar[str] = "first"
    name: ClassVar[str] = "first"
    latest: ClassVar[bool] = False

    def add(self, state: tuple[V, int], record: Record[Any, V]) -> tuple[V, int]:
        return state if record.timestamp >= state[1] else (record.value, record.timestamp)

    def merge(self, earlier: tuple[V, int], later: tuple[V, int]) -> tuple[V, int]:
        return earlier if earlier[1] <= later[1] else later


def last(value: Serde[V]) -> Aggregator[object, V, tuple[V, int], V]:
    """Keep the value with the latest timestamp; among equal times, the last to arrive.

    Args:
        value: Serde of the values.
    """
    return _Last(StampedSerde(value))


class _Last(Edge[V]):
    identity: ClassVar[str] = "last"
    name: ClassVar[str] = "last"
    latest: ClassVar[bool] = True

    def add(self, state: tuple[V, int], record: Record[Any, V]) -> tuple[V, int]:
        return state if record.timestamp < state[1] else (record.value, record.timestamp)

    def merge(self, earlier: tuple[V, int], later: tuple[V, int]) -> tuple[V, int]:
        return later if later[1] >= earlier[1] else earlier
