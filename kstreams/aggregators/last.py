"""Keep the last value."""

from __future__ import annotations

from typing import Any, ClassVar

from kstreams._types import V
from kstreams.aggregators.aggregator import Aggregator
from kstreams.aggregators.edge import Edge
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.stamped import StampedSerde

__all__ = ("last",)


def last(value: Serde[V]) -> Aggregator[object, V, tuple[V, int], V]:
    """Keep the value with the latest timestamp; of equal times the last to arrive.

    Args:
        value: Serde of the values.
    """
    return _Last(StampedSerde(value))


class _Last(Edge[V]):
    latest: ClassVar[bool] = True

    def add(self, state: tuple[V, int], record: Record[Any, V]) -> tuple[V, int]:
        return state if record.timestamp < state[1] else (record.value, record.timestamp)

    def merge(self, earlier: tuple[V, int], later: tuple[V, int]) -> tuple[V, int]:
        return later if later[1] >= earlier[1] else earlier
