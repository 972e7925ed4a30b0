"""Aggregators: their names, and the serdes of their results."""

from __future__ import annotations

from typing import Any

from kstreams.aggregators.aggregator import Aggregator
from kstreams.streams.functions import name_of
from kstreams.streams.lambdas import annotations_of
from kstreams.streams.names import dashed, kebab
from kstreams.streams.serdes import KnownSerde, Serdes, Unknown

__all__ = ("aggregator_name", "result_serde")

_LIBRARY = "kstreams.aggregators."


def aggregator_name(aggregator: Aggregator[Any, Any, Any, Any]) -> str:
    """Return the name of an aggregator as a part of the names of stores.

    That is its attribute `name`, or the function of the library that creates it, such as `sum`, or
    its class. The aggregator of a part of each value begins with the part: `price-sum`.
    """
    own = getattr(aggregator, "name", None)
    if isinstance(own, str) and own:
        return kebab(own)
    part, inner = getattr(aggregator, "part", None), getattr(aggregator, "aggregator", None)
    if callable(part) and inner is not None:  # `over(part, inner)`
        return dashed(name_of(part), aggregator_name(inner))
    kind = type(aggregator)
    if not kind.__module__.startswith(_LIBRARY):
        return kebab(kind.__name__)
    known = str(getattr(aggregator, "made_by", getattr(aggregator, "identity", "")))
    return known if known.isidentifier() else kebab(kind.__module__.removeprefix(_LIBRARY))


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
