"""Aggregators: their names, and the serdes of their results."""

from __future__ import annotations

from typing import Any, NamedTuple

from kstreams.aggregators.aggregator import Aggregator, aggregator_name
from kstreams.stored_names import dashed
from kstreams.streams.functions import name_of
from kstreams.streams.lambdas import annotations_of
from kstreams.streams.serdes import KnownSerde, Serdes, Unknown

__all__ = ("Aggregation", "result_serde", "stored_name")


class Aggregation(NamedTuple):
    """An aggregation of a grouped stream.

    Attributes:
        name: The part of store names that states the aggregation, such as `count` or `price-sum`.
        aggregator: The aggregator.
        value: The serde of the results.
        call: The user's call, with file and line.
    """

    name: str
    aggregator: Aggregator[Any, Any, Any, Any]
    value: KnownSerde
    call: str


def stored_name(aggregator: Aggregator[Any, Any, Any, Any]) -> str:
    """Return the name of an aggregator as a part of the names of stores.

    The name of an aggregator of one field, `over(part, ...)`, starts with the field: `price-sum`.
    """
    part, inner = getattr(aggregator, "part", None), getattr(aggregator, "aggregator", None)
    if callable(part) and inner is not None:  # `over(part, inner)`
        return dashed(name_of(part), stored_name(inner))
    return aggregator_name(aggregator)


def result_serde(
    aggregator: Aggregator[Any, Any, Any, Any], serdes: Serdes, call: str
) -> KnownSerde:
    """Return the serde of an aggregator's results, as far as its method `result` declares them.

    If `result` returns its argument's type, the serde is that of the state.
    """
    hints = annotations_of(getattr(type(aggregator), "result", None))
    given, made = hints.get("state", object), hints.get("return", object)
    if given == made and "Any" not in str(made):
        return aggregator.state
    if made is object or "~" in str(made) or "Any" in str(made):
        name = aggregator_name(aggregator)
        return Unknown(f"the aggregator {name!r} does not declare the type of its result: {call}")
    return serdes.of(made, call)
