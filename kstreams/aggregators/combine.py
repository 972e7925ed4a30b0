"""Several aggregators in one pass over one store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from kstreams._types import K, V
from kstreams.aggregators.aggregator import (
    Aggregator,
    InvertibleAggregator,
    is_exact,
    remove_of,
)
from kstreams.aggregators.columns.combine import CombineForm
from kstreams.aggregators.columns.form import ColumnForm, column_form, keeps_objects
from kstreams.aggregators.exact_sum import unrounded
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.composite import TupleSerde
from kstreams.serde.layout import fixed_layout

__all__ = ("combine",)

S1 = TypeVar("S1")
"""Type of the first state; the others accordingly."""
S2 = TypeVar("S2")
"""Type of the second state."""
S3 = TypeVar("S3")
"""Type of the third state."""
S4 = TypeVar("S4")
"""Type of the fourth state."""
A1 = TypeVar("A1")
"""Type of the first result."""
A2 = TypeVar("A2")
"""Type of the second result."""
A3 = TypeVar("A3")
"""Type of the third result."""
A4 = TypeVar("A4")
"""Type of the fourth result."""


@overload
def combine(
    first: InvertibleAggregator[K, V, S1, A1], second: InvertibleAggregator[K, V, S2, A2], /
) -> InvertibleAggregator[K, V, tuple[S1, S2], tuple[A1, A2]]: ...
@overload
def combine(
    first: InvertibleAggregator[K, V, S1, A1],
    second: InvertibleAggregator[K, V, S2, A2],
    third: InvertibleAggregator[K, V, S3, A3],
    /,
) -> InvertibleAggregator[K, V, tuple[S1, S2, S3], tuple[A1, A2, A3]]: ...
@overload
def combine(
    first: InvertibleAggregator[K, V, S1, A1],
    second: InvertibleAggregator[K, V, S2, A2],
    third: InvertibleAggregator[K, V, S3, A3],
    fourth: InvertibleAggregator[K, V, S4, A4],
    /,
) -> InvertibleAggregator[K, V, tuple[S1, S2, S3, S4], tuple[A1, A2, A3, A4]]: ...
@overload
def combine(
    first: Aggregator[K, V, S1, A1], second: Aggregator[K, V, S2, A2], /
) -> Aggregator[K, V, tuple[S1, S2], tuple[A1, A2]]: ...
@overload
def combine(
    first: Aggregator[K, V, S1, A1],
    second: Aggregator[K, V, S2, A2],
    third: Aggregator[K, V, S3, A3],
    /,
) -> Aggregator[K, V, tuple[S1, S2, S3], tuple[A1, A2, A3]]: ...
@overload
def combine(
    first: Aggregator[K, V, S1, A1],
    second: Aggregator[K, V, S2, A2],
    third: Aggregator[K, V, S3, A3],
    fourth: Aggregator[K, V, S4, A4],
    /,
) -> Aggregator[K, V, tuple[S1, S2, S3, S4], tuple[A1, A2, A3, A4]]: ...
def combine(*aggregators: Aggregator[Any, Any, Any, Any]) -> Any:
    """Run two to four aggregators side by side; the result is a tuple of theirs.

    Records can be taken out again if all of them can do that.
    """
    return _Combine(aggregators)


@dataclass(frozen=True)
class _Combine:
    aggregators: tuple[Aggregator[Any, Any, Any, Any], ...]

    @property
    def exact(self) -> bool:
        return all(map(is_exact, self.aggregators))

    @property
    def state(self) -> Serde[tuple[Any, ...]]:
        return TupleSerde(*(each.state for each in self.aggregators))

    def init(self, record: Record[Any, Any]) -> tuple[Any, ...]:
        return tuple(each.init(record) for each in self.aggregators)

    def add(self, state: tuple[Any, ...], record: Record[Any, Any]) -> tuple[Any, ...]:
        pairs = zip(self.aggregators, state, strict=True)
        return tuple(each.add(own, record) for each, own in pairs)

    @property
    def remove(self) -> Callable[[tuple[Any, ...], Record[Any, Any]], tuple[Any, ...]]:
        removes = tuple(map(remove_of, self.aggregators))

        def remove(state: tuple[Any, ...], record: Record[Any, Any]) -> tuple[Any, ...]:
            return tuple(each(own, record) for each, own in zip(removes, state, strict=True))

        return remove

    @property
    def unrounded(self) -> _UnroundedCombine | None:
        found = tuple(map(unrounded, self.aggregators))
        if not any(found):
            return None
        pairs = zip(self.aggregators, found, strict=True)
        return _UnroundedCombine(
            tuple(each if own is None else own for each, own in pairs),
            tuple(own is not None for own in found),
        )

    def merge(self, earlier: tuple[Any, ...], later: tuple[Any, ...]) -> tuple[Any, ...]:
        parts = zip(self.aggregators, earlier, later, strict=True)
        return tuple(each.merge(one, other) for each, one, other in parts)

    def result(self, state: tuple[Any, ...]) -> tuple[Any, ...]:
        pairs = zip(self.aggregators, state, strict=True)
        return tuple(each.result(own) for each, own in pairs)

    def columns(self, value: Serde[Any]) -> ColumnForm | None:
        parts = []
        for each in self.aggregators:
            form, layout = column_form(each, value), fixed_layout(each.state)
            if form is None or layout is None or keeps_objects(form):
                return None
            parts.append((form, layout.column_count))
        return CombineForm(parts)


@dataclass(frozen=True)
class _UnroundedCombine(_Combine):
    """Its results are states: of what rounds, the states that it would have."""

    rounds: tuple[bool, ...]

    def result(self, state: tuple[Any, ...]) -> tuple[Any, ...]:
        parts = zip(self.aggregators, state, self.rounds, strict=True)
        return tuple(each.result(own) if rounds else own for each, own, rounds in parts)
