"""Inputs that still affect the output once limits are reached."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kstreams import INT64, TEXT, Node, Processor, Record, Topic, Topology, TopologyBuilder
from kstreams.aggregators import count
from kstreams.graph.limits import Reach, ends_by_itself, limits_of
from kstreams.operators import aggregate, filter_, limit, map_values
from kstreams.serde import NONE
from kstreams.sources import bounded, items
from kstreams.stores import key_value_store, timestamped_store

A = Topic("a", TEXT, INT64)
B = Topic("b", TEXT, INT64)
OUT = Topic("out", TEXT, INT64)
SHARED = key_value_store("shared", key=TEXT, value=INT64)
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)


class Keep(Processor[str, int, str, int]):
    """Stores the last value of each key."""

    def process(self, record: Record[str, int]) -> None:
        self.context.store(SHARED).put(record.key, record.value)
        self.context.forward(record)


def first(builder: TopologyBuilder, name: str, *parents: Node[str, int]) -> Node[str, int]:
    return builder.add_processor(name, limit(2), *parents)


def open_inputs(topology: Topology, *reached: str) -> set[str]:
    (groups,) = topology.pipelines()
    return set(Reach(groups).open_inputs(reached))


def built(wire: Callable[[TopologyBuilder, Node[str, int], Node[str, int]], None]) -> Topology:
    builder = TopologyBuilder("app")
    wire(builder, builder.add_source("a", A), builder.add_source("b", B))
    return builder.build()


def test_source_stays_open_while_a_path_from_it_has_no_reached_limit() -> None:
    def wire(builder: TopologyBuilder, a: Node[str, int], b: Node[str, int]) -> None:
        mapped = builder.add_processor("mapped", map_values(abs), a)
        builder.add_sink("one", OUT, first(builder, "l1", mapped), first(builder, "l3", b))
        builder.add_sink("two", OUT, first(builder, "l2", mapped))

    topology = built(wire)
    assert limits_of(topology.groups) == {"l1": 2, "l2": 2, "l3": 2}
    assert open_inputs(topology) == {"a", "b"}
    assert open_inputs(topology, "l1") == {"a", "b"}
    assert open_inputs(topology, "l1", "l2") == {"b"}
    assert open_inputs(topology, "l1", "l2", "l3") == set()


def test_reached_limit_after_two_sources_ends_both() -> None:
    topology = built(lambda builder, a, b: builder.add_sink("o", OUT, first(builder, "l", a, b)))
    assert open_inputs(topology, "l") == set()


def test_reached_limit_after_repartition_ends_sources_before_it() -> None:
    def wire(builder: TopologyBuilder, a: Node[str, int], b: Node[str, int]) -> None:
        edge = builder.repartition("edge", a, b, key=TEXT, value=INT64)
        builder.add_sink("out", OUT, first(builder, "l", edge))

    topology = built(wire)
    assert open_inputs(topology) == {"a", "b", "edge"}
    assert open_inputs(topology, "l") == set()


def test_source_before_reached_limit_stays_open_only_for_store_shared_with_open_path() -> None:
    def alone(builder: TopologyBuilder, a: Node[str, int], b: Node[str, int]) -> None:
        counts = builder.add_processor("counts", aggregate(count(), store=COUNTS), a)
        builder.add_sink("out", OUT, first(builder, "l", counts), first(builder, "m", b))

    def shared(builder: TopologyBuilder, a: Node[str, int], b: Node[str, int]) -> None:
        left = builder.add_processor("left", Keep, a, stores=[SHARED])
        right = builder.add_processor("right", Keep, b, stores=[SHARED])
        builder.add_sink("out", OUT, first(builder, "l", left), right)

    assert open_inputs(built(alone), "l") == {"b"}
    assert open_inputs(built(shared), "l") == {"a", "b"}


def test_source_and_loop_stay_open_until_the_limit_after_them_is_reached() -> None:
    builder = TopologyBuilder("loops")
    source = builder.add_source("a", A)
    again = builder.add_loop("again", key=TEXT, value=INT64, max_hops=9)
    less = builder.add_processor("less", map_values(lambda value: value - 1), source, again)
    builder.close_loop(again, builder.add_processor("rest", filter_(lambda _, v: v > 0), less))
    builder.add_sink("out", OUT, first(builder, "l", less))
    topology = builder.build()
    assert open_inputs(topology) == {"a", "again"}
    assert open_inputs(topology, "l") == set()


@pytest.mark.parametrize(
    ("limited", "with_topic", "expected"),
    [
        pytest.param(False, False, True, id="only bounded sources"),
        pytest.param(False, True, False, id="bounded sources and a topic"),
        pytest.param(True, True, True, id="bounded sources and a topic with a limit"),
    ],
)
def test_run_can_end_only_with_bounded_sources_or_a_limit(
    limited: bool, with_topic: bool, expected: bool
) -> None:
    builder = TopologyBuilder("app")
    words = builder.add_source("words", items("words", [1], INT64))
    more = builder.add_source("more", bounded(items("more", [1], INT64)))
    builder.add_sink("out", Topic("x", key=NONE, value=INT64, null_keys="pass"), words, more)
    if with_topic:
        node = builder.add_source("a", A)
        builder.add_sink("rest", OUT, first(builder, "l", node) if limited else node)
    assert ends_by_itself(builder.build()) == expected
