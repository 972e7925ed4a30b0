"""Names of nodes and stores rejected by `build()`, because they become paths, labels and text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import INT64, TEXT, Topic, TopologyBuilder, timestamped_store
from kstreams.errors import TopologyError
from kstreams.names import name_problem
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.topology import to_stdout
from tests.support.topologies.word_count import Keeps

BAD = ["", "../../x", "a/b", "/etc", ".", "..", "a\0b", "a\nb", "\x1b[2J", "\udcff", "é" * 128]
GOOD = ["orders", "Zähler 2", "a.b", "a:b", "日本", "<b>", ".hidden", '"', "a" * 240]

IN = Topic("in", TEXT, INT64)


def source(b: TopologyBuilder, name: str) -> None:
    b.add_sink("out", to_stdout(), b.add_source(name, IN))


def sink(b: TopologyBuilder, name: str) -> None:
    b.add_sink(name, to_stdout(), b.add_source("in", IN))


def processor(b: TopologyBuilder, name: str) -> None:
    b.add_processor(name, Keeps, b.add_source("in", IN))


def edge(b: TopologyBuilder, name: str) -> None:
    moved = b.repartition(name, b.add_source("in", IN), key=TEXT, value=INT64)
    b.add_sink("out", to_stdout(), moved)


def loop(b: TopologyBuilder, name: str) -> None:
    again = b.add_loop(name, key=TEXT, value=INT64)
    b.close_loop(again, b.merge("both", b.add_source("in", IN), again))


def branch(b: TopologyBuilder, name: str) -> None:
    b.branch(name, b.add_source("in", IN), {"some": lambda _, v: v > 0})


def table(b: TopologyBuilder, name: str) -> None:
    store = timestamped_store("rows", key=TEXT, value=INT64)
    topic = Topic("in", TEXT, INT64, nulls="pass")
    b.add_sink("out", to_stdout(), b.add_table(name, topic, store=store))


def store(b: TopologyBuilder, name: str) -> None:
    spec = key_value_store(name, key=TEXT, value=INT64)
    b.add_processor("p", Keeps, b.add_source("in", IN), stores=[spec])


def global_store(b: TopologyBuilder, name: str) -> None:
    rows = timestamped_store(name, key=TEXT, value=INT64)
    b.add_global_table("global", Topic("rows", TEXT, INT64, nulls="pass"), store=rows)
    b.add_processor("p", Keeps, b.add_source("in", IN), reads=[rows])


WIRES: list[Callable[[TopologyBuilder, str], None]] = [
    source,
    sink,
    processor,
    edge,
    loop,
    branch,
    table,
    store,
    global_store,
]
wires = pytest.mark.parametrize("wire", WIRES)


@wires
@pytest.mark.parametrize("name", BAD, ids=lambda value: ascii(value)[:20])
def test_build_refuses_names_with_slash_nul_or_line_break(
    wire: Callable[[TopologyBuilder, str], None], name: str
) -> None:
    builder = TopologyBuilder("t")
    wire(builder, name)
    with pytest.raises(TopologyError, match=r"cannot name a (node|store)") as caught:
        builder.build()
    assert all(problem.isprintable() for problem in caught.value.problems)


@wires
@pytest.mark.parametrize("name", GOOD)
def test_build_accepts_names_with_other_special_characters(
    wire: Callable[[TopologyBuilder, str], None], name: str
) -> None:
    builder = TopologyBuilder("t")
    wire(builder, name)
    builder.build()


@pytest.mark.parametrize("label", ["a/b", "../x", "a\0"])
def test_build_refuses_invalid_name_of_branch(label: str) -> None:
    builder = TopologyBuilder("t")
    branches: dict[str, Any] = {label: lambda _, v: v > 0}
    builder.branch("by", builder.add_source("in", IN), branches)
    with pytest.raises(TopologyError, match="cannot name a node"):
        builder.build()


@given(st.text(max_size=300))
def test_accepted_name_is_one_path_component_and_one_line(name: str) -> None:
    if not name_problem(name):
        assert "/" not in name
        assert "\0" not in name
        assert name not in (".", "..", "")
        assert len(name.splitlines()) == 1
        assert len(name.encode()) <= 255
