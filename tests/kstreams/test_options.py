"""Each option of each public callable is checked; options are found in signatures."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Literal, get_args, get_origin

import pytest

from kstreams import INT64, TEXT, Topic, TopologyBuilder, aggregate, timestamped_store
from kstreams.aggregators import count
from kstreams.durations import seconds
from kstreams.emit import at_most_every
from kstreams.errors import CompileError, OptionError, TopologyError
from kstreams.options import checks_options, options_of
from tests.kstreams.public_modules import FACES, names_of

NOT_CALLED_BY_USERS = {
    "AggregateSupplier": "made by `aggregate`",
    "FramedSerde.in_topic": "called by a topic",
    "Joiner.__call__": "called by the builder",
    "JoinStore.fetch": "called for each record, and a side that is none has no rows",
    "Kafka.client_options": "called by the library's own clients",
    "KeyValueStore": "made by a task",
    "LoopNode": "made by the builder",
    "RememberedRecord": "made by a store",
    "RepartitionNode": "made by the builder",
    "SerdeRequest": "made by the command line",
    "SinkNode": "made by the builder",
    "SourceNode": "made by the builder",
    "WindowedStream": "made by `windowed_by`",
    "WindowedSupplier": "made by `windowed_aggregate`",
}
"""Public callables with options that users do not pass, and the reasons."""


def callables() -> Iterator[tuple[str, Callable[..., Any], Callable[..., Any]]]:
    """Yield name, callable and signature of all public functions, constructors and methods."""
    for face in FACES:
        for name in names_of(face):
            found: Any = getattr(import_module(face), name)
            if not inspect.isclass(found):
                if callable(found) and inspect.isfunction(inspect.unwrap(found)):
                    yield name, found, inspect.unwrap(found)
                continue
            for method, function in inspect.getmembers(found, inspect.isfunction):
                if method == "__init__":
                    yield name, function, inspect.unwrap(function)
                elif not method.startswith("_"):
                    yield f"{name}.{method}", function, inspect.unwrap(function)


def options() -> dict[str, tuple[Callable[..., Any], Callable[..., Any], str]]:
    """Return all options of public callables by name."""
    return {
        f"{name}({option})": (call, function, option)
        for name, call, function in callables()
        if name not in NOT_CALLED_BY_USERS
        for option in options_of(function)
    }


OPTIONS = options()


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("value", ["no such value", 7, object()], ids=["text", "number", "object"])
def test_option_rejects_invalid_value(name: str, value: object) -> None:
    call, function, option = OPTIONS[name]
    parameters = inspect.signature(function).parameters.values()
    given: dict[str, Any] = {
        each.name: object()
        for each in parameters
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    }
    with pytest.raises(OptionError) as caught:
        call(**{**given, option: value})
    assert f"{option} is " in caught.value.message
    for alternative in options_of(function)[option]:
        if get_origin(alternative) is Literal:
            assert repr(get_args(alternative)[0]) in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("name", NOT_CALLED_BY_USERS)
def test_each_callable_exempt_from_option_check_exists(name: str) -> None:
    assert name == "Joiner.__call__" or any(each[0] == name for each in callables())


def test_option_check_finds_known_options() -> None:
    known = {
        "TopologyBuilder(on_error)",
        "TopologyBuilder.add_source(invalid_time)",
        "TopologyBuilder.add_source(start)",
        "Topic(nulls)",
        "Topic(null_keys)",
        "aggregate(emit)",
        "aggregate(execution)",
        "windowed_aggregate(emit)",
        "windowed_aggregate(execution)",
        "key_value_store(ttl_clock)",
        "App.run(until)",
        "Kafka(delivery)",
        "CalendarWindows(unit)",
        "folder(when_read)",
    }
    assert known - OPTIONS.keys() == set()


def test_error_of_invalid_option_lists_valid_values_and_suggests_nearest() -> None:
    with pytest.raises(OptionError) as caught:
        TopologyBuilder("t", on_error="Fail")  # type: ignore[arg-type]  # the invalid argument
    assert caught.value.message == (
        "TopologyBuilder: on_error is 'Fail', expected 'fail', 'skip' or DeadLetter"
    )
    assert caught.value.hint == "did you mean on_error='fail'?"
    assert isinstance(caught.value, (TopologyError, CompileError, ValueError))


def test_topic_rejects_unknown_policy_for_nulls() -> None:
    with pytest.raises(OptionError, match="nulls is 'decode', expected 'drop' or 'pass'"):
        Topic("t", TEXT, TEXT, nulls="decode")  # type: ignore[call-overload]  # the invalid argument


def test_aggregate_without_windows_rejects_emission_of_windows() -> None:
    store = timestamped_store("s", key=TEXT, value=INT64)
    emit: Any = at_most_every(seconds(1))
    with pytest.raises(OptionError, match=r"emit is AtMostEvery.*EachUpdate or OncePerBatch"):
        aggregate(count(), store=store, emit=emit)


def test_option_rejects_equal_value_of_another_type() -> None:
    @checks_options
    def call(level: Literal[1, 2], flag: Literal["a"] | None = None) -> int:
        return level

    assert call(1, None) == 1
    wrong: Any = True
    with pytest.raises(OptionError):
        call(wrong)
    with pytest.raises(TypeError, match="missing"):
        call()  # type: ignore[call-arg]  # the missing argument
