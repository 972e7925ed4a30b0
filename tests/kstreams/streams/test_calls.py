"""Wrong arguments are errors of the call, which name the cause and the next step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from kstreams import INT64, TEXT, Processor, Record, Topic
from kstreams.aggregators import sum_
from kstreams.durations import days, minutes, seconds
from kstreams.emit import each_update, on_close
from kstreams.joins import Service, left_value
from kstreams.operators import columns
from kstreams.streams import Streams
from kstreams.windows import TumblingWindows, Windowed
from tests.kstreams.streams.shop import NAMES, NUMBERS, ORDERS, TEXTS, Order, line, refused

MINUTE = TumblingWindows(minutes(1))


def call(name: str, *arguments: Any, **options: Any) -> str:
    """Return the error of a method of `Streams`."""
    streams: Any = Streams("sources")
    return refused(lambda: getattr(streams, name)(*arguments, **options))


@pytest.mark.parametrize("name", ["stream", "table", "versioned_table", "global_table"])
def test_topic_name_passed_to_stream_is_error_that_shows_topic_definition(name: str) -> None:
    options = {"history": days(1)} if name == "versioned_table" else {}
    text = call(name, "orders", **options)
    assert text.startswith(f"{name}('orders') at test_calls.py:")
    assert "got a str, expected a Topic" in text
    assert "Hint: pass Topic('orders', key=..., value=...)" in text
    assert "expected " in call(name, 5, **options)
    assert "expected " in call(name, None, **options)


def test_topic_name_passed_to_method_to_is_error_that_shows_topic_definition() -> None:
    texts: Any = Streams("to").stream(TEXTS)
    text = refused(lambda: texts.to("out"))
    assert text.startswith("to('out') at test_calls.py:")
    assert "Hint: pass Topic('out', key=..., value=...)" in text


def texts_and_numbers() -> tuple[Any, Any, Any]:
    streams = Streams("calls")
    return streams.stream(TEXTS), streams.table(NUMBERS), streams.global_table(NAMES)


def steps() -> dict[str, tuple[int, Callable[[Any], object]]]:
    """Return calls by name, each with the number of arguments that its function gets."""
    texts, numbers, names = texts_and_numbers()
    grouped, near = texts.group_by_key(), texts.within(minutes(1), grace=seconds(1))
    by_number = numbers.group_by(lambda _, number: number, key=INT64)
    return {
        "map_values": (1, texts.map_values),
        "flat_map_values": (1, texts.flat_map_values),
        "narrow": (1, texts.narrow),
        "transform": (1, texts.transform),
        "map": (2, texts.map),
        "flat_map": (2, texts.flat_map),
        "select_key": (2, texts.select_key),
        "filter": (2, texts.filter),
        "filter_not": (2, texts.filter_not),
        "peek": (2, texts.peek),
        "split": (2, texts.split),
        "validate": (2, texts.validate),
        "group_by": (2, texts.group_by),
        "deduplicate": (
            2,
            lambda function: texts.deduplicate(function, within=minutes(1), key=TEXT),
        ),
        "over": (1, grouped.over),
        "reduce": (2, grouped.reduce),
        "cogroup": (2, lambda function: grouped.cogroup(function, state=INT64)),
        "join": (2, lambda function: texts.join(near, function)),
        "left_join": (2, lambda function: texts.left_join(numbers, function)),
        "outer_join": (2, lambda function: texts.outer_join(near, function)),
        "join_by": (2, lambda function: texts.join_by(names, lambda _, text: text, function)),
        "left_join_by": (2, lambda function: texts.left_join_by(names, function, left_value)),
        "table.map_values": (1, numbers.map_values),
        "table.filter": (2, numbers.filter),
        "table.derive": (2, numbers.derive),
        "table.group_by": (2, numbers.group_by),
        "table.join": (2, lambda function: numbers.join(numbers, function)),
        "table.join_by": (2, lambda function: numbers.join_by(numbers, function, left_value)),
        "groups.over": (1, by_number.over),
        "groups.reduce": (2, lambda f: by_number.reduce(f, lambda one, two: one)),
        "groups.remove": (2, lambda f: by_number.reduce(lambda one, two: one, f)),
    }


@pytest.mark.parametrize("name", [*steps()])
def test_function_with_wrong_number_of_parameters_is_error_at_the_call(name: str) -> None:
    count, step = steps()[name]
    method = name.rpartition(".")[2].replace("remove", "reduce")
    wrong: Any = (lambda a, b: None) if count == 1 else (lambda a: None)
    text = refused(lambda: step(wrong))
    assert f"{method}(" in text
    assert f"calls the function with {count} argument" in text
    assert f"but its parameters are {'(a, b)' if count == 1 else '(a)'}" in text
    assert "Hint: pass a function like lambda " in text
    assert "function" in refused(lambda: step(5))


@pytest.mark.parametrize("name", [*steps()])
def test_function_with_defaults_or_any_arguments_is_accepted(name: str) -> None:
    def any_number(*arguments):  # type: ignore[no-untyped-def]  # on purpose
        return arguments

    _, step = steps()[name]
    step(any_number)


def test_builtins_and_columns_are_accepted() -> None:
    texts = Streams("builtins").stream(TEXTS)
    numbers = texts.map_values(str.upper).map_values(len)
    numbers.map_values(columns(lambda number: number + 1))
    texts.group_by_key().reduce(max)
    texts.flat_map_values(str.split)


def test_error_of_unknown_type_of_a_joiner_names_the_joiner_and_both_serdes() -> None:
    streams = Streams("lost")
    texts, names = streams.stream(TEXTS), streams.table(NAMES)
    joined = texts.join(names, lambda text, name: text.upper() + name); here = line()  # fmt: skip  # noqa: E702
    text = refused(joined.filter(lambda _, both: both != "").group_by(lambda _, both: both).count)
    assert (
        "needs the serdes of the keys and the values, but a lambda does not declare the type of "
        f"its result: join(a lambda) at {here}" in text
    )
    assert (
        "Hint: declare the type of the function's result (-> ...), or pass value=... there." in text
    )
    assert "group_by" not in text


def test_error_of_two_unknown_types_names_both_functions() -> None:
    texts = Streams("two").stream(TEXTS)
    numbers = texts.map_values(lambda text: text.count("a")); first = line()  # fmt: skip  # noqa: E702
    grouped = numbers.group_by(lambda _, number: number % 2); second = line()  # fmt: skip  # noqa: E702
    text = refused(grouped.count)
    assert f"group_by(a lambda) at {second}; and the serde of the values, but" in text
    assert f"map_values(a lambda) at {first}" in text
    assert "or pass key=... and value=... there." in text


def test_field_of_untyped_value_is_reported_at_the_step_that_made_the_value() -> None:
    orders = Streams("field").stream(ORDERS)
    changed = orders.map_values(lambda order: Order(order.item, "", 1)); here = line()  # fmt: skip  # noqa: E702
    text = refused(changed.group_by(lambda key, order: (order.customer, key)).count)
    assert f"map_values(a lambda) at {here}" in text
    assert "group_by" not in text


def test_serde_given_to_the_joiner_gives_later_lambdas_their_type() -> None:
    streams = Streams("given")
    texts, names = streams.stream(TEXTS), streams.table(NAMES)
    joined = texts.join(names, lambda text, name: text.upper() + name, value=TEXT)
    joined.group_by(lambda _, both: both).count()
    assert [spec.key for spec in streams.build().stores if spec.name.endswith("count")] == [TEXT]


def test_join_by_of_stream_with_table_is_error_that_shows_the_correct_call() -> None:
    streams = Streams("sides")
    texts: Any = streams.stream(TEXTS)
    names: Any = streams.table(NAMES)
    text = refused(lambda: texts.join_by(names, lambda _, text: text, left_value))
    assert text.startswith("join_by(...) at test_calls.py:")
    assert "got a Table as its right side" in text
    assert "Hint: select_key(...).join(table, joiner) joins a table by another key." in text


def test_unsupported_right_side_of_join_is_error_that_shows_the_correct_call() -> None:
    async def ask(questions: Iterable[str]) -> dict[str, int]:
        return dict.fromkeys(questions, 1)

    streams = Streams("sides")
    texts: Any = streams.stream(TEXTS)
    names: Any = streams.table(NAMES)
    history: Any = streams.versioned_table(Topic("rates", TEXT, INT64), history=days(1))
    cities: Any = streams.global_table(Topic("cities", TEXT, TEXT))
    by = lambda _, text: text  # noqa: E731
    found = {
        "got a GlobalTable as its right side\nHint: join_by(": lambda: texts.join(
            cities, left_value
        ),
        "got a Service as its right side\nHint: join_by(": lambda: texts.join(
            Service(ask), left_value
        ),
        "got a VersionedTable as its right side\nHint: select_key(": lambda: texts.join_by(
            history, by, left_value
        ),
        "got a Stream without a range of times as its right side\nHint: join(other.within": (
            lambda: texts.left_join(texts, left_value)
        ),
        "got a Stream as its right side, expected a Table": lambda: names.join(texts, left_value),
        "got a GlobalTable as its right side, expected": lambda: names.join_by(
            cities, by, left_value
        ),
    }
    for expected, make in found.items():
        assert expected in refused(make)


def test_emit_argument_of_aggregation_is_error_that_names_where_to_pass_it() -> None:
    grouped: Any = Streams("emit").stream(NUMBERS).group_by_key()
    start: Any = grouped.cogroup(lambda old, record: (old or 0) + record.value, state=INT64)
    made = {
        "aggregate": lambda: grouped.aggregate(sum_(INT64), emit=each_update()),
        "count": lambda: grouped.count(emit=each_update()),
        "reduce": lambda: grouped.reduce(max, emit=each_update()),
    }
    for name, make in {**made, "aggregate ": lambda: start.aggregate(emit=each_update())}.items():
        method = name.strip()
        text = refused(make)
        assert text.startswith(f"{method}(emit=...) at test_calls.py:")
        assert "Hint: pass it to to_stream(emit=...), to(topic, emit=...) or windowed_by(" in text
    windows: Any = grouped.windowed_by(MINUTE)
    text = refused(lambda: windows.count(emit=on_close()))
    assert "Hint: pass it to windowed_by(windows, emit=...)." in text


class Spans(Processor[str, str, Windowed[str], str]):
    """Forwards windowed keys; its type does not have the windows."""

    def process(self, record: Record[str, str]) -> None:
        raise NotImplementedError


def test_missing_serde_of_windowed_keys_is_error_that_shows_its_definition() -> None:
    spans = Streams("spans").stream(TEXTS).process(Spans)
    text = refused(spans.group_by_key().count)
    assert "Streams(serdes=[...]) has no serde of Windowed[str]: process(Spans) at" in text
    assert "or pass key=windowed(serde, windows) there." in text
