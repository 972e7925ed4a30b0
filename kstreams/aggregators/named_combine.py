"""A combination of aggregators with results by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from kstreams.aggregators.aggregator import aggregator_identity, merge_of, remove_of
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.aggregators.columns.named_combine import NamedForm
from kstreams.aggregators.combined import Combined
from kstreams.aggregators.exact_sum import unrounded
from kstreams.aggregators.named_results import NamedResults
from kstreams.errors import TopologyError
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.composite import FieldsSerde
from kstreams.stored_names import function_part, kebab

__all__ = ("AnyAggregator", "AnyInvertibleAggregator", "NamedCombined", "named_combined")

K_contra = TypeVar("K_contra", contravariant=True)
"""Type of the keys."""
V_contra = TypeVar("V_contra", contravariant=True)
"""Type of the values."""
A_co = TypeVar("A_co", covariant=True)
"""Type of the results."""

_PLAIN = (dict, NamedResults)
"""Classes that do not describe the results."""
_State = tuple[Any, ...]
"""The states of the aggregators, in the order of the sorted names."""


class AnyAggregator(Protocol[K_contra, V_contra, A_co]):
    """An aggregator with a state of any type; every `Aggregator` is an `AnyAggregator`."""

    def init(self, record: Record[K_contra, V_contra]) -> object:
        """Return the state for a first record."""
        ...

    @property
    def result(self) -> Callable[..., A_co]:
        """Return the function that converts a state to a result."""
        ...


class AnyInvertibleAggregator(
    AnyAggregator[K_contra, V_contra, A_co], Protocol[K_contra, V_contra, A_co]
):
    """An aggregator that can remove a record, with a state of any type."""

    @property
    def remove(self) -> Callable[..., object]:
        """Return the function that removes a record from a state."""
        ...


def named_combined(given: Sequence[Any], named: Mapping[str, Any]) -> NamedCombined:
    """Combine aggregators, with results by name.

    Args:
        given: The class of the results, if any.
        named: The aggregators by name.

    Raises:
        TopologyError: A positional argument is not the class of the results, or a name is not
            valid.
    """
    if len(given) > 1 or any(not callable(each) for each in given):
        raise TopologyError(
            "combine got both positional and named aggregators",
            hint="name all of them: combine(orders=count(), largest=max_(DOUBLE)).",
        )
    make: Callable[..., Any] | None = given[0] if given else None
    if make is None:
        _check_names(named)
    else:
        _check_class(make, named)
    names = tuple(sorted(named))
    return NamedCombined(Combined(tuple(named[name] for name in names)), names, tuple(named), make)


@dataclass(frozen=True)
class NamedCombined:
    """Combines named aggregators; the state is in the order of the sorted names.

    Args:
        combined: The combination of the aggregators, sorted by name.
        names: The names of the aggregators, sorted.
        order: The names of the aggregators, in the order of the results.
        make: Creates a result from keyword arguments; None creates a `NamedResults`.
    """

    made_by: ClassVar[str] = "combine"

    combined: Combined
    names: tuple[str, ...]
    order: tuple[str, ...]
    make: Callable[..., Any] | None

    @property
    def identity(self) -> str:
        """Return the identity that is recorded with states."""
        parts = zip(self.names, self.combined.aggregators, strict=True)
        named = (f"{name}={aggregator_identity(each)}" for name, each in parts)
        return f"combine({', '.join(named)})"

    @property
    def name(self) -> str:
        """Return the class of the results, or else the sorted names, as a part of stored names."""
        make = self.make
        part = "" if make is None or make in _PLAIN else function_part(make)
        return part or kebab("-".join(self.names))

    @property
    def exact(self) -> bool:
        """Return whether merges give the same state in any order."""
        return self.combined.exact

    @property
    def state(self) -> Serde[_State]:
        """Return the serde of the state, which contains the names."""
        return FieldsSerde(self.names, *(each.state for each in self.combined.aggregators))

    def init(self, record: Record[Any, Any]) -> _State:
        """Return the state for a first record."""
        return self.combined.init(record)

    def add(self, state: _State, record: Record[Any, Any]) -> _State:
        """Return the state after one further record."""
        return self.combined.add(state, record)

    @property
    def merge(self) -> Callable[[_State, _State], _State]:
        """Return the function that merges states; raises `AttributeError` if there is none."""
        return merge_of(self.combined)

    @property
    def remove(self) -> Callable[[_State, Record[Any, Any]], _State]:
        """Return the function that removes a record; raises `AttributeError` if there is none."""
        return remove_of(self.combined)

    @property
    def unrounded(self) -> object:
        """Return the combination of exact aggregators; None if no aggregator rounds its states."""
        return unrounded(self.combined)

    def result(self, state: _State) -> object:
        """Return the results by name."""
        return self.named(self.combined.result(state))

    def named(self, results: Sequence[Any]) -> object:
        """Create the named result from results in the order of the sorted names."""
        by_name = dict(zip(self.names, results, strict=True))
        ordered = {name: by_name[name] for name in self.order}
        return NamedResults(ordered) if self.make is None else self.make(**ordered)

    def columns(self, value: Serde[Any]) -> ColumnForm | None:
        """Return the column form; None if an aggregator has none."""
        form = self.combined.columns(value)
        return None if form is None else NamedForm(form, self.names, self.named)


def _check_names(named: Mapping[str, Any]) -> None:
    wrong = [name for name in named if name.startswith("_") or hasattr(NamedResults, name)]
    if wrong:
        raise TopologyError(
            f"combine: {wrong[0]!r} cannot name a result",
            hint="choose a name without a leading underscore, other than 'as_dict'.",
        )


def _check_class(make: Callable[..., Any], named: Mapping[str, Any]) -> None:
    try:
        inspect.signature(make).bind(**named)
    except ValueError:  # a built-in type, such as dict, has no signature
        return
    except TypeError as exc:
        name = getattr(make, "__name__", type(make).__name__)
        raise TopologyError(
            f"combine: {name} cannot be called with results named {', '.join(named)}: {exc}",
            hint=f"give each aggregator the name of a field of {name}.",
        ) from exc
