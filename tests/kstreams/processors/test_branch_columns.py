"""Branches by columns give the results of branches by records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import (
    INT64,
    TEXT,
    FixedKeyProcessor,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    filter_,
    key_value_store,
    map_values,
    timestamped_store,
)
from kstreams.errors import ProcessingError
from kstreams.ids import TaskId
from kstreams.joins import left
from kstreams.testing import TopologyTestDriver

IN = Topic("in", TEXT, INT64)
OUT: Any = Topic("out", TEXT, INT64)
NAMES = Topic("names", TEXT, TEXT)
TESTS: dict[str, Callable[[str, int], bool]] = {
    "small": lambda _, value: value < 10,
    "even": lambda _, value: value % 2 == 0,
    "of a": lambda key, _: key == "a",
}


class ByRecord:
    """An interceptor of records; no columns run around it."""

    def bind(
        self, node: str, task: TaskId, call: Callable[[Record[Any, Any]], None]
    ) -> Callable[[Record[Any, Any]], None]:
        return call


class Summing(FixedKeyProcessor[str, int, int]):
    """Adds the values of a key, in a store that another node may use, too."""

    def process(self, record: Record[str, int]) -> None:
        sums = self.context.store(SUMS)
        total = (sums.get(record.key) or 0) * 3 + record.value
        sums.put(record.key, total % 1_000)
        self.context.forward(record.with_value(total))


SUMS = key_value_store("sums", key=TEXT, value=INT64)


def topology(
    labels: list[str], default: str | None, *, below: str, joined: bool, met: bool = False
) -> Topology:
    """Build a branch, below a source or a join, with nodes of a kind below its branches."""
    builder: Any = TopologyBuilder("t")
    node = builder.add_source("in", IN)
    if joined:
        store = timestamped_store("names", key=TEXT, value=TEXT)
        names = builder.add_table("names", NAMES, store=store)
        node = builder.join_table("join", node, names, left(lambda value, _: value))
    tests = {label: TESTS[label] for label in labels}
    branches = builder.branch("by", node, tests, default=default)
    if met:
        builder.add_sink("out", OUT, builder.merge("all", *branches.values()))
    for number, (label, branch) in enumerate(branches.items() if not met else ()):
        last = branch
        if below == "values":
            last = builder.add_processor(f"v{number}", map_values(lambda v: v + 1), last)
            last = builder.add_processor(f"f{number}", filter_(lambda k, _: k != "b"), last)
        elif below == "branches":
            inner = builder.branch(f"again{number}", last, {"odd": lambda _, v: v % 2}, default="r")
            builder.add_sink(f"odd{number}", Topic(f"odd-{number}", TEXT, INT64), inner["odd"])
            last = inner["r"]
        elif below == "stores":
            last = builder.add_processor(f"s{number}", Summing, last, stores=[SUMS])
        builder.add_sink(f"sink {label}", Topic(f"out-{number}", TEXT, INT64), last)
    built: Topology = builder.build()
    return built


def results(made: Topology, batches: list[list[tuple[str, int]]], *, by_record: bool) -> Any:
    interceptors = (ByRecord(),) if by_record else ()
    with TopologyTestDriver(made, partitions=2, interceptors=interceptors) as driver:
        time = 0
        for batch in batches:
            for key, value in batch:
                driver.write(IN, key, value, timestamp=time, headers=((f"h{time}", b"x"),))
                time += 1
            driver.run()
        names = sorted({sink.target.name for sink in made.sinks if isinstance(sink.target, Topic)})
        rows = {
            name: [
                (r.partition, r.key, r.value, r.timestamp, r.headers)
                for r in driver.read_rows(name)
            ]
            for name in names
        }
        return rows, dict(driver.dropped)


BATCHES = st.lists(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 30)), max_size=20), max_size=3
)
LABELS = st.lists(st.sampled_from(list(TESTS)), min_size=1, unique=True)


@settings(max_examples=80)
@given(
    BATCHES,
    LABELS,
    st.none() | st.just("rest"),
    st.sampled_from(["topics", "values", "branches", "stores"]),
    st.booleans(),
    st.booleans(),
)
def test_branches_give_same_results_by_columns_and_records(
    batches: list[list[tuple[str, int]]],
    labels: list[str],
    default: str | None,
    below: str,
    joined: bool,
    met: bool,
) -> None:
    made = topology(labels, default, below=below, joined=joined, met=met)
    by_columns, by_records = (
        results(made, batches, by_record=by_record) for by_record in (False, True)
    )
    assert by_columns == by_records


@pytest.mark.parametrize("below", ["topics", "values", "branches"])
@pytest.mark.parametrize("joined", [False, True])
def test_branch_and_following_nodes_run_by_columns(below: str, joined: bool) -> None:
    described = topology(list(TESTS), "rest", below=below, joined=joined).describe()
    lines = [line.strip() for line in described.splitlines()]
    processors = [line for line in lines if line.startswith(("Processor:", "Join:"))]
    assert lines.count("execution: columns") == len(processors)


def test_join_of_merged_branches_runs_by_records() -> None:
    described = topology(list(TESTS), None, below="topics", joined=True, met=True).describe()
    assert "its records reach node 'all' below it on several paths" in described


def test_join_of_branches_that_share_a_store_runs_by_records() -> None:
    described = topology(["small"], "rest", below="stores", joined=True).describe()
    assert "nodes 's0' and 's1' below it use one store" in described


def test_failing_predicate_names_the_record() -> None:
    builder = TopologyBuilder("t")
    branches = builder.branch("by", builder.add_source("in", IN), {"one": lambda _, v: 1 // v > 0})
    builder.add_sink("out", OUT, branches["one"])
    made = builder.build()
    assert "execution: columns" in made.describe()
    with TopologyTestDriver(made) as driver:
        for time, value in enumerate((1, 0, 2)):
            driver.write(IN, f"k{value}", value, timestamp=time)
        with pytest.raises(ProcessingError, match="ZeroDivisionError") as raised:
            driver.run()
    where = raised.value.where
    assert (where.node, where.key, where.timestamp, where.offset) == ("by", "k0", 1, 1)


@pytest.mark.parametrize("merged", [False, True])
def test_nodes_that_meet_after_one_operator_keep_the_order_of_records(merged: bool) -> None:
    builder = TopologyBuilder("t")
    first = builder.add_processor("x", map_values(lambda v: v + 1), builder.add_source("in", IN))
    even = builder.add_processor("even", filter_(lambda _, v: v % 2 == 0), first)
    odd = builder.add_processor("odd", filter_(lambda _, v: v % 2 == 1), first)
    if merged:
        builder.add_sink("out", OUT, builder.add_processor("m", map_values(int), even, odd))
    else:
        builder.add_sink("out", OUT, even, odd)
    with TopologyTestDriver(builder.build()) as driver:
        for value in range(6):
            driver.write(IN, "k", value)
        driver.run()
        assert [record.value for record in driver.read(OUT)] == [1, 2, 3, 4, 5, 6]
