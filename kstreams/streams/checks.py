"""Checks of the arguments of calls: topics, functions and their parameters, and types."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar, cast, get_origin

from kstreams.errors import TopologyError
from kstreams.graph.tokens import accepts, show, without_none
from kstreams.serde.base import Serde
from kstreams.serde.windowed_key import WindowedKeySerde, windows_text
from kstreams.streams.facts import Facts
from kstreams.streams.functions import title_of
from kstreams.streams.plan import call_of
from kstreams.streams.serdes import KnownSerde, type_of
from kstreams.windows.late import Late

__all__ = (
    "BOTH_VALUES",
    "KEY_AND_VALUE",
    "ONE_RECORD",
    "ONE_VALUE",
    "STATE_AND_RECORD",
    "check_foreign_key",
    "check_function",
    "check_given",
    "check_no_name",
    "check_topic",
    "check_written",
    "checks_first",
    "without_emit",
)

F = TypeVar("F", bound=Callable[..., Any])
"""A method."""

ONE_VALUE = ("value",)
ONE_RECORD = ("record",)
KEY_AND_VALUE = ("key", "value")
BOTH_VALUES = ("left", "right")
STATE_AND_RECORD = ("old", "record")


def check_function(function: object, arguments: tuple[str, ...], call: str) -> None:
    """Check that a function accepts the arguments that it will get.

    Args:
        function: The function; signatures that Python cannot read are accepted.
        arguments: The names of the arguments.
        call: The call that got the function.

    Raises:
        TopologyError: The object is no function, or has another number of parameters.
    """
    example = f"lambda {', '.join(arguments)}: ..."
    if not callable(function):
        raise TopologyError(
            f"{call} got a {type(function).__name__}, expected a function", hint=f"pass {example}."
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # such as a builtin
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        count = f"{len(arguments)} argument{'s' if len(arguments) > 1 else ''}"
        raise TopologyError(
            f"{call} calls the function with {count} ({', '.join(arguments)}), but its parameters "
            f"are {signature}",
            hint=f"pass a function like {example}.",
        ) from None


def check_no_name(given: object, operation: str) -> None:
    """Check that an object is not the name of a topic.

    Raises:
        TopologyError: The object is text.
    """
    if isinstance(given, str):
        check_topic(given, operation)


def check_topic(given: object, operation: str) -> None:
    """Check that an object has the attributes of a topic.

    Raises:
        TopologyError: The object has no name or no serdes, such as the name of a topic.
    """
    if all(hasattr(given, name) for name in ("name", "key", "value")):
        return
    shown = repr(given) if isinstance(given, str) else type(given).__name__
    name = shown if isinstance(given, str) else '"name"'
    raise TopologyError(
        f"{call_of(operation, shown)} got a {type(given).__name__}, expected a Topic",
        hint=f"pass Topic({name}, key=..., value=...), which has the serdes of the records.",
    )


def check_given(hint: object, given: Serde[Any], call: str) -> None:
    """Check that the type of a function's results fits the serde that the call gives.

    Raises:
        TopologyError: The types differ; the message has both.
    """
    token = type_of(given)
    if not accepts(token, without_none(hint)):
        raise TopologyError(
            f"{call} makes {show(without_none(hint))}, but its serde {given.name} is for "
            f"{show(token)}",
            hint="pass the serde of the declared type, or correct the declaration.",
        )


class _Written(Protocol):
    """The serdes of records."""

    @property
    def key(self) -> KnownSerde: ...

    @property
    def value(self) -> KnownSerde: ...


def check_written(facts: Facts, target: str, serdes: _Written) -> None:
    """Check that the types of records fit the serdes that write them; unknown types do.

    Args:
        facts: The properties of the stream.
        target: The topic or loop, as messages name it.
        serdes: The topic or loop.

    Raises:
        TopologyError: The types differ; the message has both, and the call that creates the keys or
            values.
    """
    for part, made, serde in (
        ("key", facts.made_key, serdes.key),
        ("value", facts.made_value, serdes.value),
    ):
        wanted = type_of(serde)
        if not accepts(without_none(wanted), without_none(made.type)):
            raise TopologyError(
                f"{call_of('to', target)} writes {part}s of type {show(made.type)} (from "
                f"{made.call}), but the {part}s of {target} are of type {show(wanted)}",
                hint=_next_step(facts, part, made.type),
            )


def _next_step(facts: Facts, part: str, actual: object) -> str:
    if actual is Late or get_origin(actual) is Late:
        return "convert the late records, by map_values(...): late.value is the value."
    if part == "key" and isinstance(facts.key, WindowedKeySerde):
        windows = windows_text(facts.key.windows)
        return f"define the topic with key=windowed({facts.key.inner.name}, {windows})."
    step = "select_key" if part == "key" else "map_values"
    return f"convert the {part}s, by {step}(...), or define the topic with another {part}=..."


def check_foreign_key(by: object, hint: object, other: Facts, call: str) -> None:
    """Check that a function's results have the type of the keys of a join's right side.

    Args:
        by: The function.
        hint: The type of its results; `object` if it is not known.
        other: The properties of the right side.
        call: The join.

    Raises:
        TopologyError: The types differ; the message has both.
    """
    wanted = other.made_key.type
    if not accepts(wanted, without_none(hint)):
        raise TopologyError(
            f"{call} finds rows of {other.label!r} by {title_of(by)}, which returns "
            f"{show(without_none(hint))}, but the keys of {other.label!r} are of type "
            f"{show(wanted)}",
            hint=f"return a {show(wanted)}, or None for no row.",
        )


def checks_first(check: Callable[[object, str], None]) -> Callable[[F], F]:
    """Decorate a method to check its first argument before all others.

    Args:
        check: Gets the argument and the name of the method.
    """

    def decorate(method: F) -> F:
        @wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # of any method
            if args:
                check(args[0], method.__name__)
            return method(self, *args, **kwargs)

        return cast("F", call)

    return decorate


def without_emit(place: str) -> Callable[[F], F]:
    """Decorate an aggregation to reject `emit=`, which belongs to another call.

    Args:
        place: The right place, for the hint.
    """

    def decorate(method: F) -> F:
        @wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # of any method
            if "emit" in kwargs:
                name = method.__name__
                raise TopologyError(
                    f"{call_of(name, 'emit=...')}: {name}(...) has no emit=...",
                    hint=f"pass it to {place}.",
                )
            return method(*args, **kwargs)

        return cast("F", call)

    return decorate
