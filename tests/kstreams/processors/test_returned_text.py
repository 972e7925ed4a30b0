"""A text returned where an operator expects a collection is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from kstreams import (
    TEXT,
    Topic,
    TopologyBuilder,
    flat_map,
    map_,
)
from kstreams.errors import ProcessingError, TopologyError
from kstreams.operators import flat_map_values, transform, transform_values
from kstreams.processors.columns import Execution
from kstreams.testing import TopologyTestDriver
from kstreams.topology import to_function
from tests.kstreams.processors.operator_after_count import below_a_count

LINES = Topic("lines", TEXT, TEXT)


def returns_text(*_: Any) -> Any:
    return "ab"


def returns_bytes(*_: Any) -> Any:
    return b"ab"


def returns_text_pairs(_key: str, _value: str) -> Any:
    return ["ab", "cd"]


def returns_one_pair(_key: str, _value: str) -> Any:
    return ("ab", "cd")


def wired(supplier: Any) -> TopologyBuilder:
    builder = TopologyBuilder("t")
    lines = builder.add_source("lines", LINES)
    node: Any = builder.add_processor("op", supplier, lines)
    builder.add_sink("out", to_function(lambda _: None), node)
    return builder


OPERATORS: dict[str, Callable[[Any], Any]] = {
    "map_": map_,
    "flat_map": flat_map,
    "flat_map_values": flat_map_values,
    "transform": transform,
    "transform_values": transform_values,
}
operators = pytest.mark.parametrize("name", OPERATORS)


@operators
@pytest.mark.parametrize("function", [returns_text, returns_bytes])
def test_error_of_returned_text_names_operator_function_and_node(
    name: str, function: Callable[..., Any]
) -> None:
    topology = wired(OPERATORS[name](function)).build()
    with TopologyTestDriver(topology) as driver, pytest.raises(ProcessingError) as caught:
        driver.pipe(LINES, "k", "v")
    assert f"{name}: function {function.__name__!r} returns" in caught.value.message
    assert caught.value.where.node == "op"
    assert caught.value.hint


@pytest.mark.parametrize("function", [returns_text_pairs, returns_one_pair])
def test_flat_map_rejects_text_instead_of_pair(function: Callable[..., Any]) -> None:
    wanted = pytest.raises(ProcessingError, match="returns str, expected a pair")
    with TopologyTestDriver(wired(flat_map(function)).build()) as driver, wanted:
        driver.pipe(LINES, "k", "v")


@pytest.mark.parametrize("execution", ["records", "columns"])
def test_map_rejects_text_by_records_and_by_columns(execution: Execution) -> None:
    with pytest.raises(ProcessingError, match="map_: function 'returns_text' returns str"):
        below_a_count(map_(returns_text), execution)


class Annotated:
    def __call__(self, *_: Any) -> str:
        return ""


def says_text(*_: Any) -> str:
    return ""


def says_bytes_or_none(*_: Any) -> bytes | None:
    return None


def says_unknown(*_: Any) -> Unknown:  # type: ignore[name-defined]  # noqa: F821
    return ""


def says_list(*_: Any) -> list[str]:
    return []


def says_text_or_list(*_: Any) -> str | list[str]:
    return []


def generates(*_: Any) -> Iterator[str]:
    yield ""


@operators
@pytest.mark.parametrize(
    "function", [says_text, says_bytes_or_none, Annotated(), partial(says_text, 1), str]
)
def test_build_rejects_function_annotated_to_return_text(
    name: str, function: Callable[..., Any]
) -> None:
    with pytest.raises(TopologyError) as caught:
        wired(OPERATORS[name](function)).build()
    (problem,) = caught.value.problems
    assert problem.startswith(f"node 'op': {name}: function ")


@operators
@pytest.mark.parametrize(
    "function", [says_unknown, says_list, says_text_or_list, generates, lambda *_: ""]
)
def test_build_accepts_other_annotations(name: str, function: Callable[..., Any]) -> None:
    wired(OPERATORS[name](function)).build()
