"""Invalid custom components: the error names them at the call that receives them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kstreams import INT64, TEXT, App, Topic, TopologyBuilder, map_values
from kstreams.errors import CompileError, ProcessingError, TopologyError
from kstreams.io import topic_by
from kstreams.testing import TopologyTestDriver
from kstreams.topology import to_stdout

IN = Topic("in", TEXT, INT64)


class Nameless:
    def partition(self, key: bytes, partitions: int) -> int:
        return 0

    def partition_batch(self, keys: Any, partitions: int) -> Any:
        return [0] * len(keys)


class NoBatch:
    name = "no-batch"

    def partition(self, key: bytes, partitions: int) -> int:
        return 0


def topic(rule: Any) -> object:
    return Topic("t", TEXT, INT64, partitioner=rule)


def chosen(rule: Any) -> object:
    return topic_by(lambda record: record.key, key=TEXT, value=INT64, partitioner=rule)


def edge(rule: Any) -> object:
    builder = TopologyBuilder("t")
    source = builder.add_source("in", IN)
    return builder.repartition("moved", source, key=TEXT, value=INT64, partitioner=rule)


def loop(rule: Any) -> object:
    return TopologyBuilder("t").add_loop("again", key=TEXT, value=INT64, partitioner=rule)


@pytest.mark.parametrize("use", [topic, chosen, edge, loop])
@pytest.mark.parametrize(
    ("rule", "expected_text"),
    [
        (Nameless(), "partitioner Nameless lacks a name"),
        (NoBatch(), "partitioner NoBatch lacks a method partition_batch"),
        (lambda key, count: 0, "partitioner function lacks a name"),
    ],
)
def test_incomplete_partitioner_is_rejected_at_the_call_by_name(
    use: Callable[[Any], object], rule: Any, expected_text: str
) -> None:
    with pytest.raises(TopologyError, match=expected_text):
        use(rule)


class ReturnsNone:
    def bind(self, node: str, task: Any, process: Any) -> Any:
        return None


class ReturnsNoColumns:
    def bind(self, node: str, task: Any, process: Any) -> Any:
        return process

    def bind_columns(self, node: str, task: Any, process_batch: Any) -> Any:
        return None


def topology() -> Any:
    builder = TopologyBuilder("t")
    node = builder.add_processor("add", map_values(lambda v: v + 1), builder.add_source("in", IN))
    builder.add_sink("out", to_stdout(), node)
    return builder.build()


def test_error_of_interceptor_whose_bind_returns_none_names_it_and_its_node() -> None:
    with (
        pytest.raises(ProcessingError) as caught,
        TopologyTestDriver(topology(), interceptors=[ReturnsNone()]) as driver,
    ):
        driver.pipe(IN, "a", 1)
    assert "interceptor ReturnsNone returned None for node 'add'" in caught.value.message
    assert caught.value.where.node == "add"


def test_error_of_interceptor_whose_bind_columns_returns_none_names_it_and_its_node() -> None:
    builder = TopologyBuilder("t")
    node = builder.add_processor("add", map_values(lambda v: v + 1), builder.add_source("in", IN))
    builder.add_sink("out", Topic("out", TEXT, INT64), node)
    with (
        pytest.raises(ProcessingError, match="ReturnsNoColumns returned None"),
        TopologyTestDriver(builder.build(), interceptors=[ReturnsNoColumns()]) as driver,
    ):
        driver.pipe(IN, "a", 1)


@pytest.mark.parametrize("wrong", [SimpleNamespace(), ReturnsNone, None])
def test_object_that_is_not_an_interceptor_is_rejected_at_the_call(wrong: Any) -> None:
    with pytest.raises(TopologyError, match="interceptor "):
        TopologyTestDriver(topology(), interceptors=[wrong])


class Elsewhere:
    def admin(self) -> Any: ...
    def reader(self) -> Any: ...
    def writer(self) -> Any: ...


@pytest.mark.parametrize("connection", [Elsewhere(), "localhost:9092", object()])
def test_app_rejects_connection_it_cannot_use_with_its_class_name(connection: Any) -> None:
    with pytest.raises(CompileError, match=type(connection).__qualname__) as caught:
        App(topology(), connection)
    assert "Embedded" in caught.value.hint
