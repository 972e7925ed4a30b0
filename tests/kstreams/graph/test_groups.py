"""Random topologies: the groups of nodes, and their order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import INT64, TEXT, Node, Topic, Topology, TopologyBuilder
from kstreams.errors.building import TopologyError
from kstreams.graph.depth import MAX_DEPTH
from kstreams.graph.groups import partition_groups, topological_order
from kstreams.graph.nodes import AnyNode, ProcessorNode, RepartitionNode
from kstreams.graph.topology import PartitionGroup
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.topology import to_stdout
from tests.support.topologies.word_count import Keeps

STORES = [key_value_store(f"store-{number}", key=TEXT, value=INT64) for number in range(3)]


@dataclass
class Plan:
    """The description of one node of a random topology."""

    kind: str
    parents: list[int] = field(default_factory=list)
    stores: list[int] = field(default_factory=list)
    topic: int = 0


@st.composite
def plans(draw: st.DrawFn) -> list[Plan]:
    """Draw nodes, each after its parents; the first is a source."""
    found = [Plan("source")]
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["source", "processor", "processor", "repartition", "sink"]))
        above = [number for number, plan in enumerate(found) if plan.kind != "sink"]
        parents = draw(st.lists(st.sampled_from(above), min_size=1, max_size=3, unique=True))
        stores = draw(st.lists(st.integers(0, 2), max_size=1)) if draw(st.booleans()) else []
        topic = draw(st.integers(0, 12))
        found.append(Plan(kind, [] if kind == "source" else parents, stores, topic))
    return found


def wire(plans: list[Plan]) -> TopologyBuilder:
    """Add the nodes, and a sink after each node without children."""
    builder = TopologyBuilder("random")
    handles: list[Node[str, str]] = []
    for number, plan in enumerate(plans):
        name = f"n{number}"
        parents = [handles[parent] for parent in plan.parents]
        handle: Any = None
        if plan.kind == "source":
            handle = builder.add_source(name, text_topic(number))
        elif plan.kind == "processor":
            stores = [STORES[store] for store in plan.stores]
            handle = builder.add_processor(name, Keeps, *parents, stores=stores)
        elif plan.kind == "repartition":
            handle = builder.repartition(name, *parents, key=TEXT, value=TEXT)
        else:
            builder.add_sink(name, text_topic(plan.topic), *parents)
        handles.append(handle)
    for number, plan in enumerate(plans):
        read = any(number in other.parents for other in plans)
        if plan.kind in ("source", "repartition") and not read:
            builder.add_sink(f"end{number}", to_stdout(), handles[number])
    return builder


def text_topic(number: int) -> Topic[str, str]:
    return Topic(f"t{number}", key=TEXT, value=TEXT)


def built(plans: list[Plan]) -> Topology | None:
    """Build the topology; return None if a store connects both sides of an edge."""
    try:
        return wire(plans).build()
    except TopologyError as error:
        if all("leads back into its own group" in text for text in error.problems):
            return None
        raise


def home_of(topology: Topology) -> dict[str, str]:
    return {node.name: group.name for group in topology.groups for node in group.nodes}


def connected(nodes: list[AnyNode]) -> list[set[str]]:
    """Find the groups by a slow algorithm: merge sets until nothing changes."""
    edges = {node.name for node in nodes if isinstance(node, RepartitionNode)}
    links = [{p, node.name} for node in nodes for p in node.parents if p not in edges]
    links += [{node.name for node in nodes if edge in node.parents} for edge in edges]
    for store in STORES:
        users = {n.name for n in nodes if isinstance(n, ProcessorNode) and store in n.stores}
        links.append(users)
    sets = [{node.name} for node in nodes]
    for link in links:
        if link:
            merged = set[str]().union(*(one for one in sets if one & link))
            sets = [one for one in sets if not one & link] + [merged]
    return sets


@settings(max_examples=50)
@given(plans())
def test_groups_are_connected_components_of_nodes(plans: list[Plan]) -> None:
    nodes = dict(wire(plans)._nodes)
    ordered, cyclic = topological_order(nodes)
    groups = partition_groups(ordered)
    assert cyclic == []
    expected = sorted(sorted(names) for names in connected(ordered))
    assert sorted(sorted(node.name for node in group.nodes) for group in groups) == expected


@settings(max_examples=50)
@given(plans())
def test_topology_is_rejected_exactly_if_edges_form_cycle_of_groups(
    plans: list[Plan],
) -> None:
    ordered, _ = topological_order(dict(wire(plans)._nodes))
    groups = partition_groups(ordered)
    below = {group.name: fed_by(group, groups) for group in groups}
    cyclic = any(group.name in reached(group.name, below) for group in groups)
    assert (built(plans) is None) == cyclic


def fed_by(group: PartitionGroup, groups: tuple[PartitionGroup, ...]) -> set[str]:
    exits = {edge.name for edge in group.exits}
    return {other.name for other in groups if exits & {edge.name for edge in other.entries}}


def reached(start: str, below: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    todo = list(below[start])
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo.extend(below[name])
    return found


@settings(max_examples=50)
@given(plans())
def test_nodes_have_topological_order_and_otherwise_order_of_calls(plans: list[Plan]) -> None:
    nodes = dict(wire(plans)._nodes)
    ordered, _ = topological_order(nodes)
    assert [node.name for node in ordered] == list(nodes)


@settings(max_examples=50)
@given(plans(), st.randoms(use_true_random=False))
def test_parents_precede_children_whatever_the_order_of_calls(
    plans: list[Plan], random: Any
) -> None:
    nodes = list(wire(plans)._nodes.values())
    random.shuffle(nodes)
    ordered, cyclic = topological_order({node.name: node for node in nodes})
    assert cyclic == []
    seen: set[str] = set()
    for node in ordered:
        assert set(node.parents) <= seen
        seen.add(node.name)


@settings(max_examples=50)
@given(plans())
def test_groups_are_ordered_after_groups_whose_records_they_read(plans: list[Plan]) -> None:
    topology = built(plans)
    if topology is None:
        return
    home = home_of(topology)
    place = {group.name: number for number, group in enumerate(topology.groups)}
    for group in topology.groups:
        for entry in group.entries:
            assert place[home[entry.name]] < place[group.name]
    feeds = feeding(topology)
    if not any(name in reached(name, feeds) for name in feeds):
        for name, fed in feeds.items():
            assert all(place[name] < place[other] for other in fed)


def feeding(topology: Topology) -> dict[str, set[str]]:
    """Return the groups that each group feeds, by an edge or a topic."""
    feeds = {group.name: fed_by(group, topology.groups) for group in topology.groups}
    for group in topology.groups:
        written = {sink.target.name for sink in group.sinks if isinstance(sink.target, Topic)}
        for other in topology.groups:
            read = {source.topic.name for source in other.sources}
            if written & read and other is not group:
                feeds[group.name].add(other.name)
    return feeds


@settings(max_examples=50)
@given(plans())
def test_group_has_name_of_its_first_source_or_entry(plans: list[Plan]) -> None:
    topology = built(plans)
    if topology is None:
        return
    for group in topology.groups:
        heads = [source.name for source in group.sources] + [edge.name for edge in group.entries]
        assert group.name == heads[0]
    names = [group.name for group in topology.groups]
    assert len(set(names)) == len(names)


@settings(max_examples=50)
@given(plans())
def test_sources_processors_sinks_and_exits_of_group_are_its_nodes(plans: list[Plan]) -> None:
    topology = built(plans)
    if topology is None:
        return
    for group in topology.groups:
        parts: list[AnyNode] = [*group.sources, *group.processors, *group.sinks, *group.exits]
        assert sorted(node.name for node in parts) == sorted(node.name for node in group.nodes)
        for spec in group.stores:
            assert topology.group_of_store(spec.name) is group


@settings(max_examples=50)
@given(plans())
def test_each_edge_leaves_one_group_and_enters_one_group(plans: list[Plan]) -> None:
    topology = built(plans)
    if topology is None:
        return
    exits = sorted(edge.name for group in topology.groups for edge in group.exits)
    entries = sorted(edge.name for group in topology.groups for edge in group.entries)
    assert exits == entries == sorted(set(exits))


@settings(max_examples=50)
@given(plans())
def test_pipelines_are_sets_of_groups_connected_by_edges(plans: list[Plan]) -> None:
    topology = built(plans)
    if topology is None:
        return
    pipelines = topology.pipelines()
    flat = [group.name for pipeline in pipelines for group in pipeline]
    assert sorted(flat) == sorted(group.name for group in topology.groups)
    pipeline_of = {group.name: i for i, groups in enumerate(pipelines) for group in groups}
    home = home_of(topology)
    links = [(home[e.name], group.name) for group in topology.groups for e in group.entries]
    assert all(pipeline_of[above] == pipeline_of[below] for above, below in links)
    order = [group.name for group in topology.groups]
    for pipeline in pipelines:
        names = [group.name for group in pipeline]
        assert names == sorted(names, key=order.index)
        one = {names[0]}
        while grown := {n for link in links if set(link) & one for n in link} - one:
            one |= grown
        assert one == set(names)


@settings(max_examples=50)
@given(plans())
def test_second_build_gives_equal_topology(plans: list[Plan]) -> None:
    first, second = built(plans), built(plans)
    if first is None or second is None:
        assert first is second
        return
    assert first.describe() == second.describe()
    assert first.to_mermaid() == second.to_mermaid()
    assert first.to_dot() == second.to_dot()
    assert first.fingerprint() == second.fingerprint()
    assert [group.name for group in first.groups] == [group.name for group in second.groups]


def test_shared_store_joins_groups_without_common_records() -> None:
    builder = TopologyBuilder("joined")
    one = builder.add_source("one", text_topic(1))
    two = builder.add_source("two", text_topic(2))
    three = builder.add_source("three", text_topic(3))
    builder.add_processor("a", Keeps, one, stores=[STORES[0]])
    builder.add_processor("b", Keeps, two, stores=[STORES[0]])
    builder.add_processor("c", Keeps, three, stores=[STORES[1]])
    topology = builder.build()
    assert [[node.name for node in group.nodes] for group in topology.groups] == [
        ["one", "two", "a", "b"],
        ["three", "c"],
    ]


def test_all_nodes_that_read_repartition_are_in_one_group() -> None:
    builder = TopologyBuilder("readers")
    edge = builder.repartition(
        "edge", builder.add_source("in", text_topic(0)), key=TEXT, value=TEXT
    )
    builder.add_processor("a", Keeps, edge)
    builder.add_processor("b", Keeps, edge)
    assert [group.name for group in builder.build().groups] == ["in", "edge"]


def test_group_that_writes_topic_precedes_group_that_reads_it() -> None:
    builder = TopologyBuilder("topics")
    builder.add_sink("end", to_stdout(), builder.add_source("second", text_topic(2)))
    builder.add_sink("middle", text_topic(2), builder.add_source("first", text_topic(1)))
    topology = builder.build()
    assert [group.name for group in topology.groups] == ["first", "second"]
    assert [[group.name for group in pipeline] for pipeline in topology.pipelines()] == [
        ["first"],
        ["second"],
    ]


def test_groups_that_read_each_others_topics_keep_order_of_calls() -> None:
    builder = TopologyBuilder("mutual")
    builder.add_sink("to-b", text_topic(2), builder.add_source("a", text_topic(1)))
    builder.add_sink("to-a", text_topic(1), builder.add_source("b", text_topic(2)))
    assert [group.name for group in builder.build().groups] == ["a", "b"]


def test_long_chain_is_ordered_fast() -> None:
    builder = TopologyBuilder("long")
    node = builder.add_source("in", text_topic(0))
    length = min(2_000, MAX_DEPTH - 1)
    for number in range(length):
        node = builder.add_processor(f"p{number}", Keeps, node)
    (group,) = builder.build().groups
    assert len(group.nodes) == length + 1
