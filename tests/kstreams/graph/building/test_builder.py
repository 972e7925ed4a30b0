"""`TopologyBuilder`: arguments it accepts, keeps, and rejects at the call."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from pyspark import cloudpickle

from kstreams import (
    INT64,
    NONE,
    TEXT,
    DeadLetter,
    KStreamsError,
    Node,
    Topic,
    TopologyBuilder,
    map_values,
)
from kstreams.errors.building import TopologyError
from kstreams.graph.nodes import FunctionSink, ProcessorNode, RepartitionNode, SinkNode, SourceNode
from kstreams.processors.branch import Branch
from kstreams.topology import to_function, to_stdout
from tests.support.topologies.word_count import (
    COUNTS,
    LINES,
    TOTALS,
    Count,
    Keeps,
    source,
    word_count,
)


def only_one() -> Callable[[], Keeps]:
    processor = Keeps()
    return lambda: processor


def build_one(supplier: Callable[[], Any]) -> ProcessorNode:
    builder = TopologyBuilder("one")
    builder.add_processor("node", supplier, source(builder, "in"))
    node = builder.build().nodes["node"]
    assert isinstance(node, ProcessorNode)
    return node


@pytest.mark.parametrize("name", ["", "a b", "a/b", "a\nb", "ä?", "..", "-"])
def test_topology_name_that_cannot_be_a_folder_fails_at_the_call(name: str) -> None:
    with pytest.raises(TopologyError, match="a topology's name consists of letters"):
        TopologyBuilder(name)


@pytest.mark.parametrize("name", ["a", "word-count", "a.b_c-1", "zählung"])
def test_valid_topology_name_is_accepted(name: str) -> None:
    assert TopologyBuilder(name).name == name


def test_source_has_error_policy_of_builder_unless_given_its_own() -> None:
    builder = TopologyBuilder("policies", on_error="skip")
    builder.add_sink("out", to_stdout(), source(builder, "a"))
    own = builder.add_source("b", LINES, on_error=DeadLetter("dead"), start="latest")
    builder.add_sink("out-b", to_stdout(), own)
    nodes = builder.build().nodes
    first, second = nodes["a"], nodes["b"]
    assert isinstance(first, SourceNode)
    assert isinstance(second, SourceNode)
    assert (first.on_error, first.start) == ("skip", "earliest")
    assert (second.on_error, second.start) == (DeadLetter("dead"), "latest")


def test_repartition_node_has_given_serdes_and_partitions() -> None:
    builder = TopologyBuilder("edges", on_error="skip")
    words = builder.repartition("by", source(builder, "a"), key=TEXT, value=TEXT, partitions=3)
    builder.add_sink("out", to_stdout(), words)
    node = builder.build().nodes["by"]
    assert isinstance(node, RepartitionNode)
    assert (node.key, node.value, node.partitions, node.on_error) == (TEXT, TEXT, 3, "skip")


def test_repartition_with_zero_partitions_fails_at_the_call() -> None:
    builder = TopologyBuilder("edges")
    with pytest.raises(TopologyError, match="partition count is 0, expected 1 to 10,000"):
        builder.repartition("by", source(builder, "a"), key=TEXT, value=TEXT, partitions=0)


def test_processor_node_has_properties_of_its_processor() -> None:
    nodes = word_count().nodes
    count = nodes["count"]
    assert isinstance(count, ProcessorNode)
    assert (count.keeps_key, count.batch, count.stores) == (True, False, (COUNTS,))
    assert (count.types_in, count.types_out) == ((str, type(None)), (str, int))
    split_node = nodes["split"]
    assert isinstance(split_node, ProcessorNode)
    assert (split_node.keeps_key, split_node.types_out) == (False, (object, object))


@pytest.mark.parametrize(
    ("supplier", "text"),
    [
        (Keeps(), "the supplier of node 'node' is a Keeps, not a function"),
        (dict, "the supplier of node 'node' made a dict, not a processor"),
        (
            only_one(),
            "the supplier of node 'node' returns the same processor at each call",
        ),
    ],
    ids=["an instance", "no processor", "always the same"],
)
def test_invalid_supplier_fails_at_the_call(supplier: Any, text: str) -> None:
    with pytest.raises(TopologyError, match=text) as caught:
        build_one(supplier)
    assert "Hint: pass the class itself" in str(caught.value)


def test_parent_that_is_not_a_node_fails_at_the_call() -> None:
    builder: Any = TopologyBuilder("parents")
    with pytest.raises(TopologyError, match="a parent of node 'x' is a str, not a node"):
        builder.add_processor("x", Keeps, "lines")


def test_duplicate_parent_of_node_counts_once() -> None:
    builder = TopologyBuilder("twice")
    parent = source(builder, "a")
    builder.add_sink("out", to_stdout(), parent, parent)
    assert builder.build().nodes["out"].parents == ("a",)


def test_branches_are_children_of_the_branch_node() -> None:
    builder = TopologyBuilder("branches")
    parent = source(builder, "a")
    branches = builder.branch("size", parent, {"small": lambda k, v: len(v) < 3}, default="rest")
    assert list(branches) == ["small", "rest"]
    for label, node in branches.items():
        builder.add_sink(f"out-{label}", to_stdout(), node)
    nodes = builder.build().nodes
    assert nodes["size.small"].parents == nodes["size.rest"].parents == ("size",)
    root = nodes["size"]
    assert isinstance(root, ProcessorNode)
    assert isinstance(root.supplier(), Branch)


def test_merge_node_has_all_parents_in_order() -> None:
    builder = TopologyBuilder("merge")
    merged = builder.merge("all", source(builder, "b"), source(builder, "a"))
    builder.add_sink("out", to_stdout(), merged)
    assert builder.build().nodes["all"].parents == ("b", "a")


def test_mirror_adds_sink_and_returns_node_before_sink() -> None:
    builder = TopologyBuilder("mirror")
    lines = builder.add_source("lines", LINES)
    copy = Topic("copy", key=LINES.key, value=LINES.value)
    assert builder.mirror("copied", lines, copy) is lines
    sink = builder.build().nodes["copied"]
    assert isinstance(sink, SinkNode)
    assert (sink.target, sink.parents) == (copy, ("lines",))


def test_validate_returns_nodes_of_valid_and_invalid_records() -> None:
    builder = TopologyBuilder("validate")
    valid, invalid = builder.validate("check", source(builder, "a"), lambda k, v: None)
    builder.add_sink("good", to_stdout(), valid)
    builder.add_sink("bad", to_stdout(), invalid)
    assert builder.build().nodes["check.invalid"].parents == ("check",)
    assert (valid.name, invalid.name) == ("check.valid", "check.invalid")


def test_function_sink_has_name_of_function_as_label() -> None:
    builder = TopologyBuilder("functions")
    builder.add_sink("out", to_function(print), source(builder, "a"))
    sink = builder.build().nodes["out"]
    assert isinstance(sink, SinkNode)
    assert isinstance(sink.target, FunctionSink)
    assert sink.target.label == "print"


def test_node_handle_has_name_and_builder() -> None:
    builder = TopologyBuilder("handles")
    node = builder.add_source("lines", LINES)
    assert (node.name, node.builder) == ("lines", builder)
    assert node == Node("lines", builder)


def test_topology_does_not_include_nodes_added_after_build() -> None:
    builder = TopologyBuilder("again")
    node = source(builder, "a")
    builder.add_sink("out", to_stdout(), node)
    first = builder.build()
    builder.add_sink("more", to_stdout(), node)
    assert list(first.nodes) == ["a", "out"]
    assert list(builder.build().nodes) == ["a", "out", "more"]


def test_topology_can_be_pickled_by_cloudpickle() -> None:
    topology = word_count()
    copy = pickle.loads(cloudpickle.dumps(topology))  # type: ignore[no-untyped-call]
    assert copy.describe() == topology.describe()
    assert copy.fingerprint() == topology.fingerprint()


def test_topology_of_module_level_functions_can_be_pickled() -> None:
    copy = pickle.loads(pickle.dumps(word_count()))
    assert copy.describe() == word_count().describe()


def test_builder_error_is_library_error_and_value_error() -> None:
    builder = TopologyBuilder("nothing")
    with pytest.raises(TopologyError) as caught:
        builder.build()
    assert isinstance(caught.value, KStreamsError)
    assert isinstance(caught.value, ValueError)


def test_nodes_of_topology_have_order_of_builder_calls() -> None:
    builder = TopologyBuilder("order")
    lines = builder.add_source("lines", LINES)
    deep = builder.add_processor("deep", map_values(len), lines)
    joined = builder.merge("late", deep, builder.add_processor("early", map_values(len), lines))
    builder.add_sink("out", to_stdout(), joined)
    (group,) = builder.build().groups
    assert [node.name for node in group.nodes] == ["lines", "deep", "early", "late", "out"]
    assert [node.name for node in group.children()["lines"]] == ["deep", "early"]


def test_two_nodes_may_share_store_with_equal_definitions() -> None:
    builder = TopologyBuilder("shared")
    words = builder.add_source("words", Topic("words", key=TEXT, value=NONE))
    first = builder.add_processor("first", Count, words, stores=[COUNTS])
    second = builder.add_processor("second", Count, words, stores=[COUNTS])
    builder.add_sink("out", TOTALS, first, second)
    (group,) = builder.build().groups
    assert group.stores == (COUNTS,)
    assert COUNTS.value is INT64
