"""Loops in the graph: validation, description and shape."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import (
    BYTES,
    INT64,
    TEXT,
    FixedKeyProcessor,
    Record,
    Topic,
    TopologyBuilder,
)
from kstreams.aggregators import count
from kstreams.errors import TopologyError
from kstreams.graph.checks.partitions import partition_counts
from kstreams.operators import aggregate, rekey
from kstreams.partitioner import Murmur2Partitioner
from kstreams.stores import timestamped_store
from kstreams.topology import Loop, Node, Topology

IN = Topic("in", TEXT, INT64)
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)


class Pass(FixedKeyProcessor[str, int, int]):
    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record)


def begun() -> tuple[TopologyBuilder, Node[str, int], Loop[str, int]]:
    builder = TopologyBuilder("t")
    return builder, builder.add_source("in", IN), builder.add_loop("again", key=TEXT, value=INT64)


def round_trip() -> TopologyBuilder:
    builder, source, again = begun()
    node = builder.add_processor("count", aggregate(count(), store=COUNTS), source, again)
    builder.close_loop(again, builder.add_processor("other", rekey(lambda key, _: key[::-1]), node))
    return builder


def problems(builder: TopologyBuilder) -> tuple[str, ...]:
    with pytest.raises(TopologyError) as caught:
        builder.build()
    return caught.value.problems


def test_records_of_loop_reenter_its_group_without_cycle_of_groups() -> None:
    (group,) = round_trip().build().groups

    assert [loop.name for loop in group.loops] == ["again"]
    assert [(end.name, end.parents) for end in group.loop_ends] == [("again.close", ("other",))]
    assert [node.name for node in group.inputs] == ["in", "again"]
    assert group.followers == {"again"}


def test_loop_that_is_not_closed_or_closed_twice_or_closed_without_parents_is_rejected() -> None:
    builder, source, again = begun()
    node = builder.add_processor("pass", Pass, source, again)

    assert problems(builder) == (
        "loop 'again' is not closed: pass the nodes that write to it with close_loop(again, ...)",
    )
    builder.close_loop(again)
    assert "loop 'again' is closed without nodes: pass the nodes that write to it" in problems(
        builder
    )

    builder, source, again = begun()
    node = builder.add_processor("pass", Pass, source, again)
    builder.close_loop(again, node)
    builder.close_loop(again, source)
    assert problems(builder) == (
        "loop 'again' is closed twice: pass all nodes that write to it to one close_loop(...)",
    )


def test_loop_with_invalid_arguments_is_rejected() -> None:
    builder, source, again = begun()
    builder.close_loop(again, source)
    assert problems(builder) == ("nothing reads from 'again'",)

    builder, source, _ = begun()
    with pytest.raises(TopologyError, match="close_loop got a Node, not a loop"):
        builder.close_loop(source, source)  # type: ignore[arg-type]  # the invalid argument
    with pytest.raises(TopologyError, match="max_hops is 0, expected 1 or more"):
        builder.add_loop("never", key=TEXT, value=INT64, max_hops=0)
    other = TopologyBuilder("other").add_loop("far", key=TEXT, value=INT64)
    builder.close_loop(other, source)
    assert "loop 'far' belongs to another builder" in problems(builder)


def test_types_of_records_in_loop_are_checked_by_its_serdes() -> None:
    builder = TopologyBuilder("t")
    source = builder.add_source("in", IN)
    texts = builder.add_loop("texts", key=TEXT, value=TEXT)
    numbers: Any = builder.add_processor("pass", Pass, source)
    builder.close_loop(texts, numbers)
    builder.add_processor("read", Pass, texts)  # type: ignore[arg-type]  # the invalid argument

    found = problems(builder)

    assert "node 'read' takes a value of type int, but 'texts' forwards str" in found


def test_key_serde_of_loop_must_equal_serde_of_common_store() -> None:
    builder = TopologyBuilder("t")
    source = builder.add_source("in", IN)
    json: Any = BYTES
    again: Any = builder.add_loop("again", key=json, value=INT64)
    node = builder.add_processor("count", aggregate(count(), store=COUNTS), source, again)
    builder.close_loop(again, node)

    assert "records of 'in' and 'again' meet in store 'counts'" in "".join(problems(builder))


def test_loop_after_changed_key_repartitions_records_into_group_with_store() -> None:
    builder, source, again = begun()
    changed = builder.add_processor("other", rekey(lambda key, _: key[::-1]), source)
    builder.close_loop(again, changed)
    builder.add_processor("count", aggregate(count(), store=COUNTS), again)

    built = builder.build()

    assert [group.name for group in built.groups] == ["in", "again"]
    assert len(built.pipelines()) == 1
    assert built.groups[1].followers == frozenset()
    assert partition_counts(built, {"in": 3}).tasks == {"in": 3, "again": 3}


def test_loop_without_source_is_rejected() -> None:
    builder, source, again = begun()
    builder.add_processor("pass", Pass, source)
    builder.close_loop(again, builder.add_processor("idle", Pass, again))

    (problem,) = problems(builder)

    assert problem.startswith("no source leads to loop 'again': it would never have records")


def test_repartitions_count_hops_only_in_topology_with_loops() -> None:
    def edges(*, looped: bool) -> list[bool]:
        builder, source, again = begun()
        if not looped:
            builder = TopologyBuilder("t")
            source = builder.add_source("in", IN)
        moved = builder.repartition("moved", source, key=TEXT, value=INT64)
        node = builder.add_processor("count", Pass, *((moved, again) if looped else (moved,)))
        if looped:
            builder.close_loop(again, node)
        return [edge.counts_hops for group in builder.build().groups for edge in group.exits]

    assert (edges(looped=True), edges(looped=False)) == ([True], [False])


def test_describe_shows_both_ends_of_loop() -> None:
    assert round_trip().build().describe().splitlines()[1:] == [
        "  Group: in (Sub-topology: 0)",
        "    Source: in (topic: in, key: text, value: int64)",
        "      --> count",
        "    Loop: again (from group: in, key: text, value: int64, max hops: 100)",
        "      --> count",
        "    Processor: count (stores: [counts])",
        "      execution: records (records of loop 'again' do not move stream time)",
        "      --> other",
        "      <-- in, again",
        "    Processor: other (stores: [])",
        "      --> again.close",
        "      <-- count",
        "    Loop-end: again.close (to loop: again, group: in)",
        "      <-- other",
        "    Store: counts (timestamped, key: text, value: int64)",
    ]


def test_mermaid_and_dot_draw_loop_from_end_to_beginning() -> None:
    built = round_trip().build()

    assert 'n1>"again"]' in built.to_mermaid()
    assert "n4 --> n1" in built.to_mermaid()
    assert 'n1 [shape=octagon, label="again"];' in built.to_dot()


def test_shape_of_topology_lists_loops_only_if_it_has_loops() -> None:
    form = {"key": "text", "value": "int64", "partitioner": Murmur2Partitioner().name}

    def shape(built: Topology) -> Any:
        return built.shape()["in"]

    builder = TopologyBuilder("t")
    builder.add_processor("pass", Pass, builder.add_source("in", IN))
    assert shape(round_trip().build())["loops"] == {"again": form}
    assert "loops" not in shape(builder.build())
