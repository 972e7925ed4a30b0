"""A custom aggregator, made of functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from kstreams._types import K, V
from kstreams.aggregators.aggregator import Aggregator
from kstreams.record import Record
from kstreams.serde.base import Serde

__all__ = ("fold",)

S = TypeVar("S")
"""Type of the state, and of the result."""


def fold(
    state: Serde[S],
    initial: Callable[[], S],
    function: Callable[[S, Record[K, V]], S],
    *,
    merge: Callable[[S, S], S],
) -> Aggregator[K, V, S, S]:
    """Fold records into a state, which is the result too.

    Args:
        state: Serde of the state.
        initial: Makes the state of no records.
        function: Returns the state with one record more; leaves its arguments as they are.
        merge: Returns the state of two, the earlier first; sessions and sliding windows
            need it.

    Source: `org.apache.kafka.streams.kstream.TimeWindowedKStream#aggregate`.
    """
    return _Fold(state, initial, function, merge)


@dataclass(frozen=True)
class _Fold(Generic[K, V, S]):
    state: Serde[S]
    initial: Callable[[], S]
    function: Callable[[S, Record[K, V]], S]
    merging: Callable[[S, S], S]

    def init(self, record: Record[K, V]) -> S:
        return self.function(self.initial(), record)

    def add(self, state: S, record: Record[K, V]) -> S:
        return self.function(state, record)

    def merge(self, earlier: S, later: S) -> S:
        return self.merging(earlier, later)

    def result(self, state: S) -> S:
        return state
