"""Keep the greatest values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from kstreams._types import V
from kstreams.aggregators.aggregator import Aggregator
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.sequences import SequenceSerde
from kstreams.stored_names import function_part

__all__ = ("Comparable", "top_n")

C = TypeVar("C", bound="Comparable")
"""Type of the compared values."""


class Comparable(Protocol):
    """A value that can be sorted, such as numbers, text, dates and tuples of these."""

    def __lt__(self: C, other: C, /) -> bool:
        """Return whether this value is less than another value of its type."""
        ...


def top_n(
    n: int, value: Serde[V], *, by: Callable[[V], C] | None = None
) -> Aggregator[object, V, tuple[V, ...], tuple[V, ...]]:
    """Keep the n greatest values, the greatest first; among equal values, the first to arrive.

    Args:
        n: The maximum number of values, 1 or more. The state is sorted and copied for each record.
        value: Serde of the values.
        by: Returns the part of a value to compare; by default the value itself.

    Raises:
        ValueError: `n` is below 1.
    """
    if n < 1:
        raise ValueError(f"n is {n}, expected 1 or more")
    return _TopN(SequenceSerde(value), n, by)


@dataclass(frozen=True)
class _TopN(Generic[V]):
    state: Serde[tuple[V, ...]]
    n: int
    by: Callable[[V], Any] | None

    @property
    def identity(self) -> str:
        return f"top_n({self.n})" if self.by is None else f"top_n({self.n}, by a function)"

    @property
    def name(self) -> str:
        part = "" if self.by is None else function_part(self.by)
        return f"top-{self.n}-by-{part}" if part else f"top-{self.n}"

    def init(self, record: Record[Any, V]) -> tuple[V, ...]:
        return (record.value,)

    def add(self, state: tuple[V, ...], record: Record[Any, V]) -> tuple[V, ...]:
        return self.merge(state, (record.value,))

    def merge(self, earlier: tuple[V, ...], later: tuple[V, ...]) -> tuple[V, ...]:
        by: Any = self.by
        # Python's sort is stable, in reverse too.
        return tuple(sorted((*earlier, *later), key=by, reverse=True)[: self.n])

    def result(self, state: tuple[V, ...]) -> tuple[V, ...]:
        return state
