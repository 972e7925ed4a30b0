"""Aggregate a part of each value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from kstreams._types import K, S, V
from kstreams.aggregators.aggregator import (
    Aggregator,
    InvertibleAggregator,
    aggregator_identity,
    aggregator_name,
    is_exact,
    merge_of,
    part_identity,
    remove_of,
)
from kstreams.aggregators.columns.form import ColumnForm, column_form, keeps_objects
from kstreams.aggregators.columns.over import OverForm
from kstreams.aggregators.exact_sum import unrounded
from kstreams.aggregators.field import Field
from kstreams.expressions.computation import PartFunction
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.stored_names import dashed, function_part, kebab

__all__ = ("over",)

W = TypeVar("W")
"""Type of the part of a value that is aggregated."""
A = TypeVar("A")
"""Type of the result."""


@overload
def over(
    part: Callable[[V], W], aggregator: InvertibleAggregator[K, W, S, A]
) -> InvertibleAggregator[K, V, S, A]: ...
@overload
def over(part: Callable[[V], W], aggregator: Aggregator[K, W, S, A]) -> Aggregator[K, V, S, A]: ...
def over(part: Callable[[Any], Any], aggregator: Aggregator[Any, Any, Any, Any]) -> Any:
    """Return an aggregator of a part of each value.

    Args:
        part: Returns the part of a value to aggregate; `field(...)` reads a number.
        aggregator: The aggregator of the parts.

    Example:
        >>> from kstreams import INT64
        >>> from kstreams.aggregators import over, sum_
        >>> letters = over(len, sum_(INT64))
    """
    return _Over(part, aggregator)


@dataclass(frozen=True)
class _Over(Generic[K, V, W, S, A]):
    part: Callable[[V], W]
    aggregator: Aggregator[K, W, S, A]

    @property
    def identity(self) -> str:
        return f"{aggregator_identity(self.aggregator)} of {part_identity(self.part)}"

    @property
    def name(self) -> str:
        part = self.part
        own = kebab(part.name) if isinstance(part, Field) else function_part(part)
        return dashed(own, aggregator_name(self.aggregator))

    @property
    def unrounded(self) -> _Over[Any, V, W, Any, S] | None:
        own = unrounded(self.aggregator)
        return None if own is None else _Over(self.part, own)

    @property
    def exact(self) -> bool:
        return is_exact(self.aggregator)

    @property
    def state(self) -> Serde[S]:
        return self.aggregator.state

    def init(self, record: Record[K, V]) -> S:
        return self.aggregator.init(record.with_value(self.part(record.value)))

    def add(self, state: S, record: Record[K, V]) -> S:
        return self.aggregator.add(state, record.with_value(self.part(record.value)))

    @property
    def remove(self) -> Callable[[S, Record[K, V]], S]:
        part, remove = self.part, remove_of(self.aggregator)
        return lambda state, record: remove(state, record.with_value(part(record.value)))

    @property
    def merge(self) -> Callable[[S, S], S]:
        return merge_of(self.aggregator)

    def result(self, state: S) -> A:
        return self.aggregator.result(state)

    def columns(self, value: Serde[Any]) -> ColumnForm | None:
        part = self.part
        if not isinstance(part, PartFunction):
            form = column_form(self.aggregator, self.state)
            if form is None or not keeps_objects(form):
                return None
            return OverForm(lambda column: column.parts(part), form)
        found = part.computation(value)
        if isinstance(found, str):
            return None
        form = column_form(self.aggregator, found.serde)
        if form is None or not form.reads_values:
            return form
        return OverForm(found.column, form)

    def columns_problem(self, value: Serde[Any]) -> str | None:
        """Return why the function cannot be computed by columns; None if it can."""
        part = self.part
        found = part.computation(value) if isinstance(part, PartFunction) else None
        return found if isinstance(found, str) else None
