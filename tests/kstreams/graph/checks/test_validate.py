"""A topology with errors is rejected with all of its problems at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest

from kstreams import (
    BYTES,
    DOUBLE,
    INT64,
    NONE,
    TEXT,
    FixedKeyProcessor,
    Node,
    Record,
    Topic,
    TopologyBuilder,
    map_values,
    rekey,
)
from kstreams.errors.building import TopologyError
from kstreams.graph.nodes import SourceNode
from kstreams.io import topic_by
from kstreams.serde import INT32
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.topology import to_stdout
from tests.support.topologies.word_count import COUNTS, LINES, TOTALS, Changes, Count, Keeps, source


class Doubles(FixedKeyProcessor[str, float, float]):
    """Takes floats."""

    def process(self, record: Record[str, float]) -> None: ...


class Optional(FixedKeyProcessor[str, "str | None", str]):
    """Takes text or None; its annotation is a text."""

    def process(self, record: Record[str, str | None]) -> None: ...


def problems(wire: Callable[[Any], None]) -> tuple[str, ...]:
    """Build an untyped topology, and return its problems."""
    builder = TopologyBuilder("wrong")
    wire(builder)
    with pytest.raises(TopologyError) as caught:
        builder.build()
    return caught.value.problems


def no_source(b: Any) -> None:
    del b


def no_parents(b: Any) -> None:
    b.add_processor("p", Keeps)
    b.add_sink("s", to_stdout(), source(b, "in"))


def same_name(b: Any) -> None:
    b.add_sink("s", to_stdout(), source(b, "in"))
    b.add_sink("s", to_stdout(), Node("in", b))


def empty_name(b: Any) -> None:
    b.add_sink("", to_stdout(), source(b, "in"))


def unknown_parent(b: Any) -> None:
    b.add_sink("s", to_stdout(), source(b, "orders"), Node("oders", b))


def unheard_of_parent(b: Any) -> None:
    b.add_sink("s", to_stdout(), source(b, "orders"), Node("xyz", b))


def other_builder(b: Any) -> None:
    b.add_sink("s", to_stdout(), source(b, "in"), Node("in", TopologyBuilder("other")))


def below_a_sink(b: Any) -> None:
    b.add_sink("s", to_stdout(), source(b, "in"))
    b.add_processor("p", Keeps, Node("s", b))


def cycle(b: Any) -> None:
    node = source(b, "in")
    b.add_processor("a", Keeps, node, Node("b", b))
    b.add_processor("b", Keeps, Node("a", b))
    b.add_sink("s", to_stdout(), Node("b", b))


def read_twice(b: Any) -> None:
    b.add_sink("s", to_stdout(), b.add_source("a", LINES), b.add_source("b", LINES))


def no_zone(b: Any) -> None:
    b.add_sink("s", to_stdout(), b.add_source("in", LINES, start=datetime(2024, 1, 1)))


def no_serde(b: Any) -> None:
    topic: Any = Topic
    b.add_sink("s", to_stdout(), b.add_source("in", topic("in", key=TEXT, value=str)))


def sink_without_serde(b: Any) -> None:
    topic: Any = Topic
    b.add_sink("s", topic("out", key="text", value=TEXT), source(b, "in"))


def edge_without_serde(b: Any) -> None:
    node = b.repartition("by", source(b, "in"), key=None, value=TEXT)
    b.add_sink("s", to_stdout(), node)


def nothing_reads_source(b: Any) -> None:
    source(b, "in")


def nothing_reads_edge(b: Any) -> None:
    b.repartition("by", source(b, "in"), key=TEXT, value=TEXT)


def stores_of_one_name(b: Any) -> None:
    node = source(b, "in")
    other = key_value_store("counts", key=TEXT, value=INT32)
    b.add_processor("a", Keeps, node, stores=[COUNTS])
    b.add_processor("b", Keeps, node, stores=[other])


def store_names(b: Any) -> None:
    node = source(b, "in")
    named = [key_value_store(name, key=TEXT, value=INT32) for name in ("", "a/b", "__a")]
    b.add_processor("a", Keeps, node, stores=named)


def wrong_key(b: Any) -> None:
    b.add_processor("c", Count, b.add_source("in", Topic("in", key=BYTES, value=NONE)))


def wrong_value(b: Any) -> None:
    b.add_processor("c", Count, source(b, "in"))


def wrong_sink(b: Any) -> None:
    b.add_sink("s", TOTALS, source(b, "in"))


def wrong_edge(b: Any) -> None:
    node = b.repartition("by", source(b, "in"), key=TEXT, value=INT64)
    b.add_sink("s", to_stdout(), node)


def tombstones_not_taken(b: Any) -> None:
    node = b.add_source("in", Topic("in", key=TEXT, value=TEXT, nulls="pass"))
    b.add_sink("s", Topic("out", key=TEXT, value=TEXT), node)


def null_keys_not_taken(b: Any) -> None:
    node = b.add_source("in", Topic("in", key=TEXT, value=TEXT, null_keys="pass"))
    b.add_sink("s", Topic("out", key=TEXT, value=TEXT), node)


def key_known_from_above(b: Any) -> None:
    node = b.add_source("in", Topic("in", key=BYTES, value=TEXT))
    b.add_sink("s", TOTALS, b.add_processor("len", map_values(len), node))


def key_changed(b: Any) -> None:
    node = b.add_processor("swap", Changes, source(b, "in"))
    node = b.add_processor("look", Keeps, node)
    b.add_processor("count", Keeps, node, stores=[COUNTS])


def key_changed_on_one_side(b: Any) -> None:
    changed = b.add_processor("by", rekey(lambda k, v: v), source(b, "a"))
    b.add_processor("count", Keeps, source(b, "b"), changed, stores=[COUNTS])


def loop(b: Any) -> None:
    above = b.add_processor("above", Keeps, source(b, "in"), stores=[COUNTS])
    below = b.repartition("by", above, key=TEXT, value=TEXT)
    b.add_processor("below", Keeps, below, stores=[COUNTS])


def loop_of_two(b: Any) -> None:
    other = key_value_store("other", key=TEXT, value=INT64)
    above = b.add_processor("above", Keeps, source(b, "in"), stores=[COUNTS])
    middle = b.repartition("e1", above, key=TEXT, value=TEXT)
    middle = b.add_processor("middle", Keeps, middle, stores=[other])
    below = b.repartition("e2", middle, key=TEXT, value=TEXT)
    b.add_processor("below", Keeps, below, stores=[COUNTS])


CASES: list[tuple[Callable[[Any], None], tuple[str, ...]]] = [
    (no_source, ("there is no source: add one with add_source",)),
    (no_parents, ("node 'p' has no parents",)),
    (same_name, ("two nodes are named 's'",)),
    (empty_name, ("'' cannot name a node: it is empty",)),
    (unknown_parent, ("node 's': unknown parent 'oders' (did you mean 'orders'?)",)),
    (unheard_of_parent, ("node 's': unknown parent 'xyz'",)),
    (other_builder, ("node 's': parent 'in' belongs to another builder",)),
    (below_a_sink, ("node 'p': parent 's' is a sink, which forwards nothing",)),
    (cycle, ("these nodes form a cycle: 'a', 'b', 's'",)),
    (
        read_twice,
        (
            (
                "sources 'a' and 'b' both read topic 'lines': add one source, and "
                "give it the children of both"
            ),
        ),
    ),
    (no_zone, ("source 'in': start datetime.datetime(2024, 1, 1, 0, 0) has no time zone",)),
    (no_serde, ("node 'in': expected a serde for the value, got <class 'str'>",)),
    (sink_without_serde, ("node 's': expected a serde for the key, got 'text'",)),
    (edge_without_serde, ("node 'by': expected a serde for the key, got None",)),
    (nothing_reads_source, ("nothing reads from 'in'",)),
    (nothing_reads_edge, ("nothing reads from 'by'",)),
    (
        stores_of_one_name,
        ("two different stores are named 'counts' (nodes 'a' and 'b'): give each its own name",),
    ),
    (
        store_names,
        (
            "node 'a': '' cannot name a store: it is empty",
            "node 'a': '__a' cannot name a store: it begins with '__'",
            "node 'a': 'a/b' cannot name a store: it has a '/', which leads to another directory",
        ),
    ),
    (wrong_key, ("node 'c' takes a key of type str, but 'in' forwards bytes",)),
    (wrong_value, ("node 'c' takes a value of type None, but 'in' forwards str",)),
    (wrong_sink, ("node 's' takes a value of type int, but 'in' forwards str",)),
    (wrong_edge, ("node 'by' takes a value of type int, but 'in' forwards str",)),
    (tombstones_not_taken, ("node 's' takes a value of type str, but 'in' forwards str | None",)),
    (null_keys_not_taken, ("node 's' takes a key of type str, but 'in' forwards str | None",)),
    (key_known_from_above, ("node 's' takes a key of type str, but 'len' forwards bytes",)),
    (
        key_changed,
        (
            (
                "node 'count' has a store, but 'swap' above it may change the key: "
                "put builder.repartition(...) between them, or derive 'swap' from "
                "FixedKeyProcessor if it keeps the key"
            ),
        ),
    ),
    (
        key_changed_on_one_side,
        (
            (
                "node 'count' has a store, but 'by' above it may change the key: "
                "put builder.repartition(...) between them, or derive 'by' from "
                "FixedKeyProcessor if it keeps the key"
            ),
        ),
    ),
    (
        loop,
        (
            (
                "a repartition edge ('by') leads back into its own group 'in': nodes on both "
                "sides share a store; give each side its own store"
            ),
        ),
    ),
    (
        loop_of_two,
        (
            (
                "a repartition edge ('e1') leads back into its own group 'in': nodes on both "
                "sides share a store; give each side its own store"
            ),
            (
                "a repartition edge ('e2') leads back into its own group 'e1': nodes on both "
                "sides share a store; give each side its own store"
            ),
        ),
    ),
]


@pytest.mark.parametrize(("wire", "expected"), CASES, ids=[case[0].__name__ for case in CASES])
def test_invalid_topology_is_rejected_with_its_problem(
    wire: Callable[[Any], None], expected: tuple[str, ...]
) -> None:
    assert problems(wire) == expected


def test_all_problems_are_reported_together_and_sorted() -> None:
    def wire(b: Any) -> None:
        b.add_source("unread", TOTALS)
        b.add_source("again", TOTALS)
        wrong_key(b)
        node = b.add_processor("swap", Changes, source(b, "more"))
        b.add_processor("count", Keeps, node, stores=[COUNTS])

    assert problems(wire) == (
        "node 'c' takes a key of type str, but 'in' forwards bytes",
        (
            "node 'count' has a store, but 'swap' above it may change the key: put "
            "builder.repartition(...) between them, or derive 'swap' from FixedKeyProcessor if "
            "it keeps the key"
        ),
        "nothing reads from 'again'",
        "nothing reads from 'unread'",
        (
            "sources 'unread' and 'again' both read topic 'totals': add one source, and "
            "give it the children of both"
        ),
    )


def test_error_message_counts_and_lists_problems() -> None:
    builder = TopologyBuilder("wrong")
    source(builder, "a")
    source(builder, "b")
    with pytest.raises(TopologyError) as caught:
        builder.build()
    assert str(caught.value) == (
        "topology 'wrong' has 2 problems:\n  - nothing reads from 'a'\n  - nothing reads from 'b'"
    )


@pytest.mark.parametrize(
    "parent",
    [
        Topic("in", key=TEXT, value=INT64),
        Topic("in", key=TEXT, value=DOUBLE),
        Topic("in", key=TEXT, value=INT32),
    ],
    ids=["int64", "double", "int32"],
)
def test_processor_of_float_values_accepts_int_values(parent: Topic[str, Any]) -> None:
    builder = TopologyBuilder("numbers")
    builder.add_processor("p", Doubles, builder.add_source("in", parent))
    builder.build()


def test_null_values_and_keys_pass_to_sinks_that_accept_them() -> None:
    topic = Topic("in", key=TEXT, value=TEXT, nulls="pass", null_keys="pass")
    out = Topic("out", key=TEXT, value=TEXT, nulls="pass", null_keys="pass")
    builder = TopologyBuilder("nulls")
    node = builder.add_source("in", topic)
    builder.add_sink("s", out, node)
    builder.add_sink("t", to_stdout(), node)
    builder.build()


def test_type_annotation_given_as_text_is_not_checked() -> None:
    builder = TopologyBuilder("text")
    builder.add_processor("p", Optional, source(builder, "in"))
    builder.build()


def test_sink_with_topic_chosen_per_record_checks_its_serdes() -> None:
    def wire(b: Any) -> None:
        b.add_sink("s", topic_by(lambda r: r.key, key=TEXT, value=INT64), source(b, "in"))

    assert problems(wire) == ("node 's' takes a value of type int, but 'in' forwards str",)


def test_sink_with_topic_chosen_per_record_accepts_tombstones_with_nulls_pass() -> None:
    builder = TopologyBuilder("tombstones")
    node = builder.add_source("in", Topic("in", key=TEXT, value=TEXT, nulls="pass"))
    choice = topic_by(lambda record: "t", key=TEXT, value=TEXT, nulls="pass")
    builder.add_sink("s", choice, node)
    builder.build()


def test_repartition_after_changed_key_is_accepted() -> None:
    builder = TopologyBuilder("good")
    words = builder.add_processor("by", rekey(lambda k, v: v), source(builder, "in"))
    words = builder.repartition("words", words, key=TEXT, value=TEXT)
    builder.add_processor("count", Keeps, words, stores=[COUNTS])
    assert [group.name for group in builder.build().groups] == ["in", "words"]


def test_source_start_with_time_zone_is_accepted() -> None:
    builder = TopologyBuilder("start")
    start = datetime(2024, 1, 1, tzinfo=timezone.utc)
    builder.add_sink("s", to_stdout(), builder.add_source("in", LINES, start=start))
    node = builder.build().nodes["in"]
    assert isinstance(node, SourceNode)
    assert node.start == start


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "a b", "a\n", "x" * 250])
def test_changelog_with_invalid_topic_name_is_rejected(name: str) -> None:
    def wire(b: Any) -> None:
        store = COUNTS.with_changelog(name)
        b.add_processor("p", Keeps, source(b, "in"), stores=[store])

    (problem,) = problems(wire)
    assert problem.startswith("store 'counts': ")
