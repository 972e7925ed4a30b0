"""The protocols of aggregators, and functions that inspect aggregators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from typing_extensions import TypeVar

from kstreams.expressions.computation import PartFunction
from kstreams.parameters import Parameters, fields_of
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.stored_names import named_part

__all__ = (
    "A_co",
    "Aggregator",
    "InvertibleAggregator",
    "K_contra",
    "S",
    "V_contra",
    "aggregator_identity",
    "aggregator_name",
    "aggregator_parameters",
    "can_merge",
    "is_exact",
    "is_invertible",
    "merge_of",
    "part_identity",
    "remove_of",
)

K_contra = TypeVar("K_contra", contravariant=True)
"""Type of the keys."""
V_contra = TypeVar("V_contra", contravariant=True)
"""Type of the values."""
S = TypeVar("S")
"""Type of the stored state."""
A_co = TypeVar("A_co", covariant=True, default=S)
"""Type of the results; by default the type of the state."""


class Aggregator(Protocol[K_contra, V_contra, S, A_co]):
    """Combines records into one result: creates a state, adds records, and merges states.

    States are values: `add` and `merge` return a new state and do not change their arguments, so a
    failing record has no effect. `merge` must be associative; its first argument is the state of
    the earlier times. Only sessions and sliding windows call `merge`. An aggregator must support
    pickling, and must compare by value or be a constant.

    An attribute `identity`, a string, names the aggregator in checkpoints: the next start rejects
    states of another identity. Without the attribute, the identity is the name of the class and,
    for a dataclass, its fields that are strings, numbers or time spans.

    An attribute `name`, a string such as `count`, is the aggregator's part of the names of stores
    that the library derives from code; see `aggregator_name`. Without the attribute, the name of
    the class is used.

    Source: `Initializer`, `Aggregator` and `Merger` of Kafka Streams in one object; the first
    record creates the state, as `min` and `reduce` require.
    """

    @property
    def state(self) -> Serde[S]:
        """Return the serde of the state, which must be the `value` of the store's definition."""
        ...

    def init(self, record: Record[K_contra, V_contra]) -> S:
        """Return the state for a first record."""
        ...

    def add(self, state: S, record: Record[K_contra, V_contra]) -> S:
        """Return the state after one further record."""
        ...

    def merge(self, earlier: S, later: S) -> S:
        """Return the combined state of two states."""
        ...

    def result(self, state: S) -> A_co:
        """Return the result of a state."""
        ...


class InvertibleAggregator(
    Aggregator[K_contra, V_contra, S, A_co], Protocol[K_contra, V_contra, S, A_co]
):
    """An aggregator that can remove a record, as `TopologyBuilder.regroup` requires.

    Counts, sums, means and variances are invertible. Minima and maxima, first and last values are
    not, because the state does not know the next value. `fold` and `reducing` are invertible if
    they have a `remove` function; `over` and `combine` are invertible if all their parts are.

    `remove` undoes one `add` of an equal value, in any order. It may round as `add` does; an
    aggregator whose rounding would drift has an attribute `unrounded`: see
    `kstreams.aggregators.exact_sum`.

    Source: the subtractor of `org.apache.kafka.streams.kstream.KGroupedTable#aggregate`.
    """

    def remove(self, state: S, record: Record[K_contra, V_contra]) -> S:
        """Return the state after removing a record that was added before."""
        ...


def is_invertible(aggregator: object) -> bool:
    """Return whether an aggregator can remove records."""
    return callable(getattr(aggregator, "remove", None))


def remove_of(aggregator: object) -> Callable[[Any, Record[Any, Any]], Any]:
    """Return the function that removes a record from a state.

    Raises:
        AttributeError: The aggregator, and so any aggregator that contains it, cannot remove
            records.
    """
    remove: Callable[[Any, Record[Any, Any]], Any] | None = getattr(aggregator, "remove", None)
    if remove is None:
        raise AttributeError(f"{type(aggregator).__name__} cannot remove records: no method remove")
    return remove


def can_merge(aggregator: object) -> bool:
    """Return whether an aggregator can merge two states, as sessions and sliding windows need."""
    return callable(getattr(aggregator, "merge", None))


def merge_of(aggregator: object) -> Callable[[Any, Any], Any]:
    """Return the function that merges two states.

    Raises:
        AttributeError: The aggregator, and so any aggregator that contains it, cannot merge states.
    """
    merge: Callable[[Any, Any], Any] | None = getattr(aggregator, "merge", None)
    if merge is None:
        raise AttributeError(f"{type(aggregator).__name__} cannot merge states: no method merge")
    return merge


def is_exact(aggregator: object) -> bool:
    """Return whether merges of an aggregator's states give the same state in any order.

    Sums of doubles do not (`exact = False`): code that merges many states must keep their order.
    """
    found: bool = getattr(aggregator, "exact", True)
    return found


def aggregator_identity(aggregator: object) -> str:
    """Return a text that differs if the states of two aggregators have different meanings.

    The text is the aggregator's attribute `identity`. Without the attribute, the text is the name
    of the class and, for a dataclass, its fields that are strings, numbers or time spans. Functions
    are not included, because they cannot be compared.
    """
    found = getattr(aggregator, "identity", None)
    if isinstance(found, str):
        return found
    own = ", ".join(f"{name}={value!r}" for name, value in fields_of(aggregator).items())
    return f"{type(aggregator).__name__}({own})"


def aggregator_name(aggregator: object) -> str:
    """Return the aggregator's part of stored names: `count`, `price-sum`, `top-3`.

    The part is the aggregator's attribute `name`, or else the name of its class, in lower case with
    dashes. Aggregators that are defined by a function have the name of the function. A change of
    the name is a change of the names of stores, so the next start refuses the stored state.
    """
    return named_part(aggregator)


def aggregator_parameters(aggregator: object) -> Parameters:
    """Return the parameters of an aggregator that are recorded with the store of its states."""
    return {"aggregator": aggregator_identity(aggregator)}


def part_identity(part: object) -> str:
    """Return the identity of the function passed to `over`; `a function` if it is not known."""
    return part.identity if isinstance(part, PartFunction) else "a function"
