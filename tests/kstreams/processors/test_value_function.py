"""Functions of a value, and of key and value, in `map_values` and `flat_map_values`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import TEXT, Record, Topic, TopologyBuilder, map_values
from kstreams.errors import TopologyError
from kstreams.operators import filter_, filter_not, flat_map_values, rekey
from kstreams.processors.columns import Execution
from kstreams.testing import TopologyTestDriver
from tests.kstreams.processors.operator_after_count import below_a_count
from tests.support.apps.recording_context import run

RECORD: Record[str, str] = Record("k", "v", 7)


@dataclass
class Pair:
    key: str
    value: str


class Joins:
    def __call__(self, key: str, value: str) -> str:
        return key + value

    def of_value(self, value: str) -> str:
        return value * 2


def either(value: str, suffix: str = "!") -> str:
    return value + suffix


def anything(*values: str) -> int:
    return len(values)


def keyword(key: str, value: str, *, sep: str = "-") -> str:
    return f"{key}{sep}{value}"


CASES: dict[str, tuple[Callable[..., Any], object]] = {
    "lambda of the value": (lambda v: v + "1", "v1"),
    "lambda of key and value": (lambda k, v: k + v, "kv"),
    "optional second argument": (either, "v!"),
    "any number of arguments": (anything, 1),
    "keyword-only options": (keyword, "k-v"),
    "class of two fields": (Pair, Pair("k", "v")),
    "callable object": (Joins(), "kv"),
    "bound method": (Joins().of_value, "vv"),
    "partial of two": (partial(keyword, "x"), "x-v"),
    "method of str": (str.upper, "V"),
    "builtin of one argument": (len, 1),
    "builtin of two arguments": (operator.add, "kv"),
    "builtin without a signature": (max, "v"),
    "builtin class": (str, "v"),
}
cases = pytest.mark.parametrize("name", CASES)


@cases
def test_map_values_passes_arguments_by_signature_of_function(name: str) -> None:
    function, expected = CASES[name]
    assert run(map_values(function), [RECORD]) == [RECORD.with_value(expected)]


@cases
def test_flat_map_values_passes_arguments_by_signature_of_function(name: str) -> None:
    function, expected = CASES[name]
    supplier = flat_map_values(_listed(function))
    assert run(supplier, [RECORD]) == [RECORD.with_value(expected)] * 2


def _listed(function: Callable[..., Any]) -> Callable[..., list[Any]]:
    """Return a function of the same signature that returns each result twice."""
    from functools import wraps

    def twice(*arguments: Any) -> list[Any]:
        return [function(*arguments)] * 2

    return wraps(function)(twice)


@pytest.mark.parametrize("made", [map_values, flat_map_values])
@pytest.mark.parametrize("function", [lambda: 1, lambda a, b, c: a, "upper"])
def test_function_with_other_number_of_arguments_is_rejected_at_the_call(
    made: Callable[[Any], Any], function: Any
) -> None:
    with pytest.raises(TopologyError, match=made.__name__):
        made(function)


@pytest.mark.parametrize("execution", ["records", "columns"])
def test_map_values_with_key_after_aggregate_gets_key_and_result(execution: Execution) -> None:
    found = below_a_count(map_values(lambda k, v: f"{k}={v}"), execution)
    assert found == [("a", "a=1"), ("b", "b=2")]


@given(st.lists(st.tuples(st.text(), st.integers())))
def test_map_values_function_of_two_arguments_receives_key_and_value(
    rows: list[tuple[str, int]],
) -> None:
    records = [Record(key, value, number) for number, (key, value) in enumerate(rows)]
    found = run(map_values(lambda k, v: (k, v)), records)
    assert [(r.key, r.value) for r in found] == [(key, (key, value)) for key, value in rows]


def test_filter_and_rekey_pass_the_value_alone_only_to_functions_of_one_argument() -> None:
    def with_optional(key: str, value: str = "") -> bool:
        return (key, value) == ("k", "long")

    texts, out = Topic("texts", TEXT, TEXT), Topic("out", TEXT, TEXT)
    predicates: list[Any] = [lambda value: value == "long", with_optional]
    first: Any = lambda value: value[0]  # noqa: E731
    for predicate in predicates:
        builder: Any = TopologyBuilder("t")
        node = builder.add_source("texts", texts)
        kept = builder.add_processor("kept", filter_(predicate), node)
        kept = builder.add_processor("key", rekey(first), kept)
        builder.add_sink("out", out, kept)
        rest = builder.add_processor("others", filter_not(predicate), node)
        builder.add_sink("rest", Topic("rest", TEXT, TEXT), rest)
        with TopologyTestDriver(builder.build()) as driver:
            driver.pipe(texts, "k", "long")
            driver.pipe(texts, "l", "short")
            assert driver.read_values(out) == {"l": "long"}
            assert driver.read_values(Topic("rest", TEXT, TEXT)) == {"l": "short"}
