"""Count different values, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kstreams.aggregators.aggregator import Aggregator
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.sequences import FrozenSetSerde

__all__ = ("count_distinct",)

V = TypeVar("V")
"""Type of the values; hashable."""


def count_distinct(value: Serde[V]) -> Aggregator[object, V, frozenset[V], int]:
    """Count different values exactly: all of them are kept.

    Args:
        value: Serde of the values, which are hashable.
    """
    return _CountDistinct(FrozenSetSerde(value))


@dataclass(frozen=True)
class _CountDistinct(Generic[V]):
    state: Serde[frozenset[V]]

    def init(self, record: Record[Any, V]) -> frozenset[V]:
        return frozenset((record.value,))

    def add(self, state: frozenset[V], record: Record[Any, V]) -> frozenset[V]:
        value = record.value
        return state if value in state else state | {value}

    def merge(self, earlier: frozenset[V], later: frozenset[V]) -> frozenset[V]:
        return earlier | later

    def result(self, state: frozenset[V]) -> int:
        return len(state)
