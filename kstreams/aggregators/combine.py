"""Run several aggregators in one pass over one store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from kstreams._types import K, V
from kstreams.aggregators.aggregator import Aggregator, InvertibleAggregator
from kstreams.aggregators.combined import Combined
from kstreams.aggregators.named_combine import (
    AnyAggregator,
    AnyInvertibleAggregator,
    named_combined,
)
from kstreams.aggregators.named_results import NamedResults

__all__ = ("combine",)

S1 = TypeVar("S1")
"""Type of the first state."""
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
R = TypeVar("R")
"""Type of the results of named aggregators."""


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
@overload
def combine(
    **aggregators: AnyInvertibleAggregator[K, V, A1],
) -> InvertibleAggregator[K, V, tuple[object, ...], NamedResults[A1]]: ...
@overload
def combine(
    **aggregators: AnyAggregator[K, V, A1],
) -> Aggregator[K, V, tuple[object, ...], NamedResults[A1]]: ...
@overload
def combine(
    result: Callable[..., R], /, **aggregators: AnyInvertibleAggregator[K, V, object]
) -> InvertibleAggregator[K, V, tuple[object, ...], R]: ...
@overload
def combine(
    result: Callable[..., R], /, **aggregators: AnyAggregator[K, V, object]
) -> Aggregator[K, V, tuple[object, ...], R]: ...
def combine(*given: Any, **named: Any) -> Any:
    """Combine several aggregators into one, with one pass over one store.

    Two to four positional aggregators give a tuple of results. Named aggregators give a
    `NamedResults`, in which all results have the same static type, or, if the first argument is a
    class such as a dataclass or a `NamedTuple`, an object of this class, whose fields have
    individual types. The names are part of the state's serde, so a state is never read with other
    names; the order of the names in the call does not matter.

    The combination can remove records, or merge states, if all its aggregators can.

    Args:
        given: Two to four aggregators; or, with named aggregators, optionally the class of the
            results.
        named: The aggregators by the name of their result.

    Raises:
        TopologyError: Positional aggregators are mixed with named ones, or the class of the results
            does not accept these names.

    Example:
        >>> from dataclasses import dataclass
        >>> from kstreams import DOUBLE
        >>> from kstreams.aggregators import count, max_
        >>> @dataclass(frozen=True)
        ... class Sales:
        ...     orders: int
        ...     largest: float
        >>> sales = combine(Sales, orders=count(), largest=max_(DOUBLE))
        >>> sales.result((2.5, 1))  # the state is in the order of the names
        Sales(orders=1, largest=2.5)
    """
    if named:
        return named_combined(given, named)
    return Combined(given)
