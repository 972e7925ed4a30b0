"""A custom aggregator that is defined by functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, overload

from kstreams._types import K, V
from kstreams.aggregators.aggregator import Aggregator, InvertibleAggregator
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.stored_names import function_part

__all__ = ("fold",)

S = TypeVar("S")
"""Type of the state and of the result."""


@overload
def fold(
    state: Serde[S],
    initial: Callable[[], S],
    function: Callable[[S, Record[K, V]], S],
    *,
    merge: Callable[[S, S], S] | None = None,
) -> Aggregator[K, V, S, S]: ...
@overload
def fold(
    state: Serde[S],
    initial: Callable[[], S],
    function: Callable[[S, Record[K, V]], S],
    *,
    merge: Callable[[S, S], S] | None = None,
    remove: Callable[[S, Record[K, V]], S],
) -> InvertibleAggregator[K, V, S, S]: ...
def fold(
    state: Serde[Any],
    initial: Callable[[], Any],
    function: Callable[[Any, Record[Any, Any]], Any],
    *,
    merge: Callable[[Any, Any], Any] | None = None,
    remove: Callable[[Any, Record[Any, Any]], Any] | None = None,
) -> Any:
    """Fold records into a state, which is also the result.

    Args:
        state: Serde of the state.
        initial: Returns the state before the first record.
        function: Returns the state after one further record; must not change its arguments.
        merge: Returns the merged state of two states, the earlier one first. Sessions and sliding
            windows require it: without it, `windowed_aggregate` rejects the fold.
        remove: Returns the state after removing an added record; `regroup` requires it.

    Source: `org.apache.kafka.streams.kstream.TimeWindowedKStream#aggregate`.
    """
    return _Fold(state, initial, function, merge, remove)


@dataclass(frozen=True)
class _Fold(Generic[K, V, S]):
    identity: ClassVar[str] = "fold"

    state: Serde[S]
    initial: Callable[[], S]
    function: Callable[[S, Record[K, V]], S]
    merging: Callable[[S, S], S] | None
    removing: Callable[[S, Record[K, V]], S] | None = None

    @property
    def name(self) -> str:
        return function_part(self.function) or "fold"

    def init(self, record: Record[K, V]) -> S:
        return self.function(self.initial(), record)

    def add(self, state: S, record: Record[K, V]) -> S:
        return self.function(state, record)

    @property
    def remove(self) -> Callable[[S, Record[K, V]], S]:
        if self.removing is None:
            raise AttributeError("this fold() has no function to remove a record: pass remove=")
        return self.removing

    @property
    def merge(self) -> Callable[[S, S], S]:
        if self.merging is None:
            raise AttributeError("this fold() has no function to merge states: pass merge=")
        return self.merging

    def result(self, state: S) -> S:
        return state
