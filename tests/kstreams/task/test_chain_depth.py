"""Chains of processors deeper than Python's recursion limit."""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kstreams import (
    INT64,
    TEXT,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    TopologyBuilder,
    map_values,
)
from kstreams.errors import LimitError, ProcessingError
from kstreams.errors.building import TopologyError
from kstreams.graph.depth import MAX_DEPTH
from kstreams.processors.on_error import OnError
from kstreams.testing import TopologyTestDriver

IN, OUT = Topic("in", TEXT, INT64), Topic("out", TEXT, INT64)


class PassThrough(FixedKeyProcessor[str, int, int]):
    """Forwards through additional Python and C frames."""

    frames = 5

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.forward = partial(context.forward)

    def process(self, record: Record[str, int]) -> None:
        self.step(record, self.frames)

    def step(self, record: Record[str, int], left: int) -> None:
        if left:
            self.step(record, left - 1)
        else:
            list(map(self.forward, [record]))


class Wasteful(PassThrough):
    """Uses more frames to forward than are reserved."""

    frames = 40


class Nested(FixedKeyProcessor[str, int, int]):
    """Recurses as deep as its value, nearly to the default limit of Python."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context = context

    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record.with_value(self.depth(record.value)))

    def depth(self, value: int) -> int:
        return self.depth(value - 1) + 1 if value else 0


def chain(
    depth: int, *below: Callable[[], Any], each: Callable[[], Any], on_error: OnError = "skip"
) -> TopologyBuilder:
    """Build a chain of equal processors that ends with the given ones."""
    builder = TopologyBuilder("deep", on_error=on_error)
    node: Any = builder.add_source("in", IN)
    for number in range(depth):
        node = builder.add_processor(f"p{number}", each, node)
    for number, supplier in enumerate(below):
        node = builder.add_processor(f"below-{number}", supplier, node)
    builder.add_sink("out", OUT, node)
    return builder


def results(builder: TopologyBuilder, *values: int) -> tuple[list[int], dict[str, int]]:
    with TopologyTestDriver(builder.build()) as driver:
        for value in values:
            driver.pipe(IN, "a", value)
        return [record.value for record in driver.read(OUT)], driver.dropped


@pytest.mark.long
@pytest.mark.parametrize("on_error", ["skip", "fail"])
def test_record_passes_through_a_thousand_processors(on_error: OnError) -> None:
    depth = min(1_000, MAX_DEPTH - 2)
    builder = chain(depth, each=map_values(lambda v: v + 1), on_error=on_error)
    assert results(builder, 1, 2) == ([depth + 1, depth + 2], {})


def test_processors_may_call_python_and_c_functions_at_largest_depth() -> None:
    assert results(chain(MAX_DEPTH - 2, each=PassThrough), 7) == ([7], {})


@pytest.mark.long
@pytest.mark.parametrize("depth", [0, 40, min(1_500, MAX_DEPTH - 3)])
def test_last_processor_of_chain_has_as_much_stack_as_first(depth: int) -> None:
    enough = sys.getrecursionlimit() - 150
    builder = chain(depth, Nested, each=PassThrough)
    assert results(builder, enough, 10**6) == ([enough], {"skipped-ProcessingError": 1})


def test_chain_without_stack_left_is_not_reported_as_failed_record() -> None:
    with pytest.raises(LimitError, match="exceed the reserved call stack") as caught:
        results(chain(min(500, MAX_DEPTH - 2), each=Wasteful), 1)
    assert caught.value.where.node is not None
    assert "setrecursionlimit" in caught.value.hint


@pytest.mark.long
def test_record_nested_too_deeply_is_failed_record_in_any_chain() -> None:
    with pytest.raises(ProcessingError, match="RecursionError") as caught:
        results(chain(300, Nested, each=PassThrough, on_error="fail"), 10**6)
    assert caught.value.where.node == "below-0"


def test_chain_above_depth_limit_is_rejected_by_build() -> None:
    builder = chain(MAX_DEPTH, each=map_values(lambda v: v))
    with pytest.raises(TopologyError, match=f"chain of {MAX_DEPTH + 2:,} nodes, down to 'out'"):
        builder.build()


@pytest.mark.long
def test_repartition_starts_new_chain() -> None:
    builder = TopologyBuilder("deep")
    node: Any = builder.add_source("in", IN)
    for number in range(MAX_DEPTH + 100):
        node = builder.add_processor(f"p{number}", map_values(lambda v: v), node)
        if number == MAX_DEPTH // 2:
            node = builder.repartition("edge", node, key=TEXT, value=INT64)
    builder.add_sink("out", OUT, node)
    assert results(builder, 5) == ([5], {})


class OwnConnection(FixedKeyProcessor[str, int, int]):
    """Keeps an object bound to the thread that created it."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context = context
        self.database = sqlite3.connect(":memory:")

    def process(self, record: Record[str, int]) -> None:
        ((found,),) = self.database.execute("select ? + 1", (record.value,))
        self.context.forward(record.with_value(found))

    def close(self) -> None:
        self.database.close()


def test_processor_of_deep_chain_is_created_run_and_closed_in_one_thread() -> None:
    before = threading.active_count()
    builder = chain(
        min(400, MAX_DEPTH - 3), OwnConnection, each=map_values(lambda v: v), on_error="fail"
    )
    assert results(builder, 1, 2) == ([2, 3], {})
    assert threading.active_count() == before


@pytest.mark.long
def test_recursion_limit_is_restored_after_batch() -> None:
    before = sys.getrecursionlimit()
    builder = chain(min(400, MAX_DEPTH - 3), Nested, each=map_values(lambda v: v))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(IN, "a", 10**6)
        assert sys.getrecursionlimit() == before
