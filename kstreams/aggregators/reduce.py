"""Combine values of one type with a function, two at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, overload

from kstreams._types import V
from kstreams.aggregators.aggregator import Aggregator, InvertibleAggregator
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.aggregators.columns.reduce import reducing_form
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.stored_names import function_part

__all__ = ("Reducing", "reducing")


@overload
def reducing(function: Callable[[V, V], V], value: Serde[V]) -> Aggregator[object, V, V, V]: ...
@overload
def reducing(
    function: Callable[[V, V], V], value: Serde[V], *, remove: Callable[[V, V], V]
) -> InvertibleAggregator[object, V, V, V]: ...
def reducing(
    function: Callable[[Any, Any], Any],
    value: Serde[Any],
    *,
    remove: Callable[[Any, Any], Any] | None = None,
) -> Any:
    """Combine values with a function, two at a time.

    Args:
        function: Returns the combination of the previous result and a new value, or of two results,
            the earlier one first. It must be associative.
        value: Serde of the values.
        remove: Takes a combined value and one of its values; returns the combination without this
            value. `regroup` requires it.

    Source: `org.apache.kafka.streams.kstream.Reducer`.
    """
    return Reducing(function, value, remove)


@dataclass(frozen=True)
class Reducing(Generic[V]):
    """The aggregator that `reducing` returns."""

    identity: ClassVar[str] = "reducing"

    function: Callable[[V, V], V]
    state: Serde[V]
    removing: Callable[[V, V], V] | None = None

    @property
    def name(self) -> str:
        """Return the name of the function, or else `reduce`, as a part of stored names."""
        return function_part(self.function) or "reduce"

    def init(self, record: Record[Any, V]) -> V:
        """Return the value of the record."""
        return record.value

    def add(self, state: V, record: Record[Any, V]) -> V:
        """Return the state combined with the value of the record."""
        return self.function(state, record.value)

    @property
    def remove(self) -> Callable[[V, Record[Any, V]], V]:
        """Return the function that removes a record; raises `AttributeError` if there is none."""
        removing = self.removing
        if removing is None:
            raise AttributeError("this reduce() has no function to remove a value: pass remove=")
        return lambda state, record: removing(state, record.value)

    def merge(self, earlier: V, later: V) -> V:
        """Return the combination of two states."""
        return self.function(earlier, later)

    def result(self, state: V) -> V:
        """Return the combined value."""
        return state

    def columns(self, value: Serde[Any]) -> ColumnForm | None:
        """Return the column form; see `reducing_form`."""
        return reducing_form(self.function, self.state, value)
