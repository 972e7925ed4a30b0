"""The contract of an aggregator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from kstreams.record import Record
from kstreams.serde.base import Serde

__all__ = (
    "A_co",
    "Aggregator",
    "InvertibleAggregator",
    "K_contra",
    "S",
    "V_contra",
    "is_exact",
    "is_invertible",
    "remove_of",
)

K_contra = TypeVar("K_contra", contravariant=True)
"""Type of the keys."""
V_contra = TypeVar("V_contra", contravariant=True)
"""Type of the values."""
S = TypeVar("S")
"""Type of the state that is kept."""
A_co = TypeVar("A_co", covariant=True)
"""Type of the results."""


class Aggregator(Protocol[K_contra, V_contra, S, A_co]):
    """How records become one result: a state that begins, takes records, and merges.

    States are values: `add` and `merge` return a new one and leave their arguments as
    they are, so that a failing record has no effect. `merge` is associative, and
    gets the state of the earlier times first. An aggregator compares by value or is a
    constant, and pickles.

    Source: `Initializer`, `Aggregator` and `Merger` of Kafka Streams in one; the state is
    begun by its first record, as those of `min` and `reduce` need it.
    """

    @property
    def state(self) -> Serde[S]:
        """Return the serde of the state: the `value` of the store's definition."""
        ...

    def init(self, record: Record[K_contra, V_contra]) -> S:
        """Return the state of one record."""
        ...

    def add(self, state: S, record: Record[K_contra, V_contra]) -> S:
        """Return the state with one record more."""
        ...

    def merge(self, earlier: S, later: S) -> S:
        """Return the state of the records of two."""
        ...

    def result(self, state: S) -> A_co:
        """Return what is forwarded."""
        ...


class InvertibleAggregator(
    Aggregator[K_contra, V_contra, S, A_co], Protocol[K_contra, V_contra, S, A_co]
):
    """An aggregator that can take a record out again, as `TopologyBuilder.regroup` needs it.

    Counts, sums, means and variances can; minima and maxima, first and last values cannot,
    for nobody knows what comes next. `fold` and `reducing` can if they are told how, `over` and
    `combine` if all that they are made of can.

    `remove` undoes one `add` of an equal value, in any order. It may round as `add` does; what
    rounds and would drift says so by an attribute `unrounded`: see
    `kstreams.aggregators.exact_sum`.

    Source: the subtractor of `org.apache.kafka.streams.kstream.KGroupedTable#aggregate`.
    """

    def remove(self, state: S, record: Record[K_contra, V_contra]) -> S:
        """Return the state with one record less: one that was added before."""
        ...


def is_invertible(aggregator: object) -> bool:
    """Tell whether an aggregator can take records out again."""
    return callable(getattr(aggregator, "remove", None))


def remove_of(aggregator: object) -> Callable[[Any, Record[Any, Any]], Any]:
    """Return what takes a record out of a state.

    Raises:
        AttributeError: The aggregator cannot: so has none who is made of it.
    """
    remove: Callable[[Any, Record[Any, Any]], Any] | None = getattr(aggregator, "remove", None)
    if remove is None:
        raise AttributeError("remove")
    return remove


def is_exact(aggregator: object) -> bool:
    """Tell whether an aggregator's states merge to the same in any order.

    Doubles that add up do not (`exact = False`): who merges many has to keep to one order.
    """
    found: bool = getattr(aggregator, "exact", True)
    return found
