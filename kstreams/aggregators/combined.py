"""A combination of aggregators with positional results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.aggregators.aggregator import (
    Aggregator,
    aggregator_identity,
    aggregator_name,
    is_exact,
    merge_of,
    remove_of,
)
from kstreams.aggregators.columns.combine import CombineForm
from kstreams.aggregators.columns.form import column_form, keeps_objects
from kstreams.aggregators.exact_sum import unrounded
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.composite import TupleSerde
from kstreams.serde.layout import fixed_layout

__all__ = ("Combined",)


@dataclass(frozen=True)
class Combined:
    """Combines aggregators; state and result are tuples with one item per aggregator."""

    made_by: ClassVar[str] = "combine"

    aggregators: tuple[Aggregator[Any, Any, Any, Any], ...]

    @property
    def identity(self) -> str:
        """Return the identity that is recorded with states."""
        return f"combine({', '.join(map(aggregator_identity, self.aggregators))})"

    @property
    def name(self) -> str:
        """Return the names of the aggregators, as a part of stored names."""
        return "-".join(map(aggregator_name, self.aggregators))

    @property
    def exact(self) -> bool:
        """Return whether merges give the same state in any order."""
        return all(map(is_exact, self.aggregators))

    @property
    def state(self) -> Serde[tuple[Any, ...]]:
        """Return the serde of the state."""
        return TupleSerde(*(each.state for each in self.aggregators))

    def init(self, record: Record[Any, Any]) -> tuple[Any, ...]:
        """Return the state for a first record."""
        return tuple(each.init(record) for each in self.aggregators)

    def add(self, state: tuple[Any, ...], record: Record[Any, Any]) -> tuple[Any, ...]:
        """Return the state after one further record."""
        pairs = zip(self.aggregators, state, strict=True)
        return tuple(each.add(own, record) for each, own in pairs)

    @property
    def remove(self) -> Callable[[tuple[Any, ...], Record[Any, Any]], tuple[Any, ...]]:
        """Return the function that removes a record; raises `AttributeError` if there is none."""
        removes = tuple(map(remove_of, self.aggregators))

        def remove(state: tuple[Any, ...], record: Record[Any, Any]) -> tuple[Any, ...]:
            return tuple(each(own, record) for each, own in zip(removes, state, strict=True))

        return remove

    @property
    def unrounded(self) -> _UnroundedCombined | None:
        """Return the combination of exact aggregators; None if no aggregator rounds its states."""
        found = tuple(map(unrounded, self.aggregators))
        if not any(found):
            return None
        pairs = zip(self.aggregators, found, strict=True)
        return _UnroundedCombined(
            tuple(each if own is None else own for each, own in pairs),
            tuple(own is not None for own in found),
        )

    @property
    def merge(self) -> Callable[[tuple[Any, ...], tuple[Any, ...]], tuple[Any, ...]]:
        """Return the function that merges states; raises `AttributeError` if there is none."""
        merges = tuple(map(merge_of, self.aggregators))

        def merge(earlier: tuple[Any, ...], later: tuple[Any, ...]) -> tuple[Any, ...]:
            parts = zip(merges, earlier, later, strict=True)
            return tuple(each(one, other) for each, one, other in parts)

        return merge

    def result(self, state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the results."""
        pairs = zip(self.aggregators, state, strict=True)
        return tuple(each.result(own) for each, own in pairs)

    def columns(self, value: Serde[Any]) -> CombineForm | None:
        """Return the column form; None if an aggregator has none."""
        parts = []
        for each in self.aggregators:
            form, layout = column_form(each, value), fixed_layout(each.state)
            if form is None or layout is None or keeps_objects(form):
                return None
            parts.append((form, layout.column_count))
        return CombineForm(parts)


@dataclass(frozen=True)
class _UnroundedCombined(Combined):
    """A combination with exact sums; the results are the rounded states of the aggregators."""

    rounds: tuple[bool, ...]

    def result(self, state: tuple[Any, ...]) -> tuple[Any, ...]:
        parts = zip(self.aggregators, state, self.rounds, strict=True)
        return tuple(each.result(own) if rounds else own for each, own, rounds in parts)
