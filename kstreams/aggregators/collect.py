"""Collect values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Generic

from kstreams._types import V
from kstreams.aggregators.aggregator import Aggregator
from kstreams.aggregators.kept_values import MAX_VALUES, checked_limit, within
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.sequences import SequenceSerde

__all__ = ("collect",)


def collect(
    value: Serde[V], *, max_values: int = MAX_VALUES
) -> Aggregator[object, V, tuple[V, ...], tuple[V, ...]]:
    """Collect all values of a window, in order of arrival; merged states are in order of time.

    The state is the whole tuple, which is copied for each record: use `collect` for windows of few
    records. For long lists use a `list_store` in a processor, which stores each element separately.

    Args:
        value: Serde of the values.
        max_values: The maximum number of values in one state. A record that would exceed it raises
            a `ProcessingError`, which `on_error` handles.

    Raises:
        ValueError: `max_values` is below 1.
    """
    return _Collect(SequenceSerde(value), checked_limit(max_values))


@dataclass(frozen=True)
class _Collect(Generic[V]):
    identity: ClassVar[str] = "collect"
    name: ClassVar[str] = "collect"

    state: Serde[tuple[V, ...]]
    most: int

    def init(self, record: Record[Any, V]) -> tuple[V, ...]:
        return (record.value,)

    def add(self, state: tuple[V, ...], record: Record[Any, V]) -> tuple[V, ...]:
        return within((*state, record.value), self.most)

    def merge(self, earlier: tuple[V, ...], later: tuple[V, ...]) -> tuple[V, ...]:
        return within(earlier + later, self.most)

    def result(self, state: tuple[V, ...]) -> tuple[V, ...]:
        return state
