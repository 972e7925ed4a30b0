"""Count distinct values exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from kstreams.aggregators.aggregator import Aggregator
from kstreams.aggregators.kept_values import MAX_VALUES, checked_limit, within
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.sequences import FrozenSetSerde

__all__ = ("count_distinct",)

V = TypeVar("V")
"""Type of the values; hashable."""


def count_distinct(
    value: Serde[V], *, max_values: int = MAX_VALUES
) -> Aggregator[object, V, frozenset[V], int]:
    """Count distinct values exactly. The state has all values, and is copied for each new value.

    Args:
        value: Serde of the values, which must be hashable.
        max_values: The maximum number of values in one state. A record that would exceed it raises
            a `ProcessingError`, to which the source's `on_error` applies. Use
            `approx_count_distinct` for many values.

    Raises:
        ValueError: `max_values` is below 1.
    """
    return _CountDistinct(FrozenSetSerde(value), checked_limit(max_values))


_OR_APPROXIMATE = ", or count with approx_count_distinct"


@dataclass(frozen=True)
class _CountDistinct(Generic[V]):
    identity: ClassVar[str] = "count_distinct"
    name: ClassVar[str] = "count-distinct"

    state: Serde[frozenset[V]]
    most: int

    def init(self, record: Record[Any, V]) -> frozenset[V]:
        return frozenset((record.value,))

    def add(self, state: frozenset[V], record: Record[Any, V]) -> frozenset[V]:
        value = record.value
        return (
            state
            if value in state
            else within(state | {value}, self.most, otherwise=_OR_APPROXIMATE)
        )

    def merge(self, earlier: frozenset[V], later: frozenset[V]) -> frozenset[V]:
        return within(earlier | later, self.most, otherwise=_OR_APPROXIMATE)

    def result(self, state: frozenset[V]) -> int:
        return len(state)
