"""Gather values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kstreams.aggregators.aggregator import Aggregator
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.sequences import SequenceSerde

__all__ = ("collect",)

V = TypeVar("V")
"""Type of the values."""


def collect(value: Serde[V]) -> Aggregator[object, V, tuple[V, ...], tuple[V, ...]]:
    """Gather all values of a window, in the order they came; merged parts by their time.

    The whole tuple is kept, and copied for each record: for windows of few records.

    Args:
        value: Serde of the values.
    """
    return _Collect(SequenceSerde(value))


@dataclass(frozen=True)
class _Collect(Generic[V]):
    state: Serde[tuple[V, ...]]

    def init(self, record: Record[Any, V]) -> tuple[V, ...]:
        return (record.value,)

    def add(self, state: tuple[V, ...], record: Record[Any, V]) -> tuple[V, ...]:
        return (*state, record.value)

    def merge(self, earlier: tuple[V, ...], later: tuple[V, ...]) -> tuple[V, ...]:
        return earlier + later

    def result(self, state: tuple[V, ...]) -> tuple[V, ...]:
        return state
