"""Combine values of one type, two at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

from kstreams._types import V
from kstreams.aggregators.aggregator import Aggregator
from kstreams.record import Record
from kstreams.serde.base import Serde

__all__ = ("Reducing", "reducing")


def reducing(function: Callable[[V, V], V], value: Serde[V]) -> Aggregator[object, V, V, V]:
    """Combine values: of what was and what comes, the function makes what is.

    Args:
        function: Associative; the value of the earlier window parts comes first.
        value: Serde of the values.

    Source: `org.apache.kafka.streams.kstream.Reducer`.
    """
    return Reducing(function, value)


@dataclass(frozen=True)
class Reducing(Generic[V]):
    """What `reducing` returns."""

    function: Callable[[V, V], V]
    state: Serde[V]

    def init(self, record: Record[Any, V]) -> V:
        """Begin with the value."""
        return record.value

    def add(self, state: V, record: Record[Any, V]) -> V:
        """Combine with the value."""
        return self.function(state, record.value)

    def merge(self, earlier: V, later: V) -> V:
        """Combine both."""
        return self.function(earlier, later)

    def result(self, state: V) -> V:
        """Return what was combined."""
        return state
