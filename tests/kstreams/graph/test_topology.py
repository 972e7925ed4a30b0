"""A built topology: its fingerprint, its parts, its pipelines."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import INT64, TEXT, Topic, TopologyBuilder
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.serde import INT32
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.topology import to_stdout
from tests.support.topologies.word_count import Keeps, source, word_count


def one_store(
    *, topic: str = "in", group: str = "in", node: str = "p", store: Any = None, sink: str = "s"
) -> Topology:
    builder = TopologyBuilder("app")
    spec = store or key_value_store("counts", key=TEXT, value=INT64)
    lines = builder.add_source(group, Topic(topic, key=TEXT, value=TEXT))
    builder.add_sink(sink, to_stdout(), builder.add_processor(node, Keeps, lines, stores=[spec]))
    return builder.build()


def test_fingerprint_is_stable_across_releases() -> None:
    assert word_count().fingerprint() == "2:15e450d418d4747c"


@pytest.mark.parametrize(
    "other",
    [one_store(node="q"), one_store(sink="t")],
    ids=["a processor's name", "a sink's name"],
)
def test_change_without_effect_on_checkpoint_keeps_fingerprint(other: Topology) -> None:
    assert other.fingerprint() == one_store().fingerprint()


@pytest.mark.parametrize(
    "other",
    [
        one_store(topic="other"),
        one_store(group="other"),
        one_store(store=key_value_store("other", key=TEXT, value=INT64)),
        one_store(store=key_value_store("counts", key=TEXT, value=INT32)),
    ],
    ids=["a topic", "a group's name", "a store's name", "a store's serde"],
)
def test_change_with_effect_on_checkpoint_changes_fingerprint(other: Topology) -> None:
    assert other.fingerprint() != one_store().fingerprint()


def test_topology_lists_nodes_sources_sinks_and_stores_of_all_groups() -> None:
    topology = word_count()
    assert list(topology.nodes) == ["lines", "split", "by-word", "count", "totals", "print"]
    assert [node.name for node in topology.sources] == ["lines"]
    assert [node.name for node in topology.sinks] == ["totals", "print"]
    assert [spec.name for spec in topology.stores] == ["counts"]


def test_mapping_of_nodes_is_read_only() -> None:
    nodes: Any = word_count().nodes
    with pytest.raises(TypeError):
        nodes["x"] = None


def test_group_of_store_is_found_by_name() -> None:
    topology = word_count()
    assert topology.group_of_store("counts").name == "by-word"
    with pytest.raises(KeyError, match="other"):
        topology.group_of_store("other")


def test_groups_joined_by_edge_are_one_pipeline() -> None:
    ((first, second),) = word_count().pipelines()
    assert (first.name, second.name) == ("lines", "by-word")
    assert isinstance(first, PartitionGroup)
    assert [edge.name for edge in first.exits] == [edge.name for edge in second.entries]


def test_children_of_repartition_are_in_group_that_reads_it() -> None:
    _, below = word_count().groups
    assert [node.name for node in below.children()["by-word"]] == ["count"]
    assert [node.name for node in below.children()["count"]] == ["totals", "print"]


def test_topologies_are_compared_by_identity() -> None:
    assert word_count() != word_count()


def test_source_without_children_is_separate_group() -> None:
    builder = TopologyBuilder("two")
    builder.add_sink("a-out", to_stdout(), source(builder, "a"))
    builder.add_sink("b-out", to_stdout(), source(builder, "b"))
    assert len(builder.build().pipelines()) == 2
