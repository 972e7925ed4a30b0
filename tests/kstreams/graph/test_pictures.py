"""Topologies as Mermaid and DOT, with names that contain syntax of both."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder
from kstreams.graph.pictures.drawing import printable
from kstreams.io import topic_by
from kstreams.names import name_problem
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.topology import to_stdout
from tests.support.topologies.word_count import Keeps, word_count

MERMAID = """\
flowchart LR
  t0[/"lines"/]
  t1[/"totals"/]
  x0(("stdout"))
  subgraph g0["lines"]
    n0(["lines"])
    n1["split"]
    n2{{"by-word"}}
  end
  subgraph g1["by-word"]
    n3["count"]
    n4(["totals"])
    n5(["print"])
    s0[("counts")]
  end
  t0 --> n0
  n0 --> n1
  n1 --> n2
  n2 --> n3
  n3 --> n4
  n3 --> n5
  n3 -.- s0
  n4 --> t1
  n5 --> x0
"""

DOT = """\
digraph "word-count" {
  rankdir=LR;
  t0 [shape=cds, label="lines"];
  t1 [shape=cds, label="totals"];
  x0 [shape=ellipse, label="stdout"];
  subgraph cluster_0 {
    label="lines";
    n0 [shape=box, style=rounded, label="lines"];
    n1 [shape=box, label="split"];
    n2 [shape=hexagon, label="by-word"];
  }
  subgraph cluster_1 {
    label="by-word";
    n3 [shape=box, label="count"];
    n4 [shape=box, style=rounded, label="totals"];
    n5 [shape=box, style=rounded, label="print"];
    s0 [shape=cylinder, label="counts"];
  }
  t0 -> n0;
  n0 -> n1;
  n1 -> n2;
  n2 -> n3;
  n3 -> n4;
  n3 -> n5;
  n3 -> s0 [dir=none, style=dashed];
  n4 -> t1;
  n5 -> x0;
}
"""

HOSTILE = [
    '"',
    "]",
    '"]; x',
    "a\nb",
    "\\",
    "\\N",
    "<b>&amp;</b>",
    "end",
    "- a",
    "1. a",
    "#35;",
    "é",
]

LINE_OF_MERMAID = re.compile(
    r"""flowchart\ LR | \ +end
    | \ +subgraph\ g\d+\["[^"]*"\]
    | \ +[nstx]\d+ (?: \(\["[^"]*"\]\) | \["[^"]*"\] | \{\{"[^"]*"\}\} | \[\("[^"]*"\)\]
        | \[/"[^"]*"/\] | \(\("[^"]*"\)\) )
    | \ +[nstx]\d+\ (?:-->|-\.-)\ [nstx]\d+""",
    re.VERBOSE,
)
LINE_OF_DOT = re.compile(
    r"""digraph\ "(?:[^"\\]|\\.)*"\ \{ | \ *\} | \ +rankdir=LR; | \ +subgraph\ cluster_\d+\ \{
    | \ +label="(?:[^"\\]|\\.)*";
    | \ +[nstx]\d+\ \[shape=[a-z]+(?:,\ style=rounded)?,\ label="(?:[^"\\]|\\.)*"\];
    | \ +[nstx]\d+\ ->\ [nstx]\d+(?:\ \[dir=none,\ style=dashed\])?;""",
    re.VERBOSE,
)


def allowed(name: str) -> str:
    """Return a name without the characters that names of nodes and stores may not have."""
    return "".join("_" if name_problem(f"a{char}") else char for char in name)


def named(names: list[str]) -> Topology:
    """Build a topology that uses each name as topic, label, node, store and edge."""
    builder = TopologyBuilder("hostile")
    node = builder.add_source("in", Topic("in", key=TEXT, value=TEXT))
    for number, name in enumerate(names):
        plain = allowed(name)
        store = key_value_store(f"s{number}{plain}", key=TEXT, value=INT64)
        builder.add_processor(f"p{number}{plain}", Keeps, node, stores=[store])
        edge = builder.repartition(f"e{number}{plain}", node, key=TEXT, value=TEXT)
        builder.add_sink(f"k{number}{plain}", Topic(f"t{name}", key=TEXT, value=TEXT), edge)
        label = topic_by(lambda record: record.key, key=TEXT, value=TEXT, label=name)
        builder.add_sink(f"c{number}{plain}", label, edge)
    return builder.build()


def test_mermaid_of_word_count_equals_recorded_text() -> None:
    assert word_count().to_mermaid() == MERMAID


def test_dot_of_word_count_equals_recorded_text() -> None:
    assert word_count().to_dot() == DOT


def test_hostile_names_are_escaped_in_mermaid() -> None:
    text = named(HOSTILE).to_mermaid()
    assert 'n1["p0#34;"]' in text
    assert 'subgraph g4["e3a_b"]' in text
    assert '[/"ta#92;nb"/]' in text
    assert '[/"#35;35#59;"/]' in text
    assert '[/"#45; a"/]' in text
    assert '[/"1#46; a"/]' in text
    assert '[/"é"/]' in text


def test_hostile_names_are_quoted_in_dot() -> None:
    text = named(HOSTILE).to_dot()
    assert r'label="p0\""' in text
    assert r'label="ta\\nb"' in text
    assert r'label="\\N"' in text
    assert 'label="<b>&amp;amp;</b>"' in text


@given(st.lists(st.text(max_size=50), unique=True, min_size=1, max_size=4))
def test_any_name_results_in_valid_mermaid_and_dot(names: list[str]) -> None:
    topology = named(names)
    for line in topology.to_mermaid().split("\n")[:-1]:
        assert LINE_OF_MERMAID.fullmatch(line), line
    for line in topology.to_dot().split("\n")[:-1]:
        assert LINE_OF_DOT.fullmatch(line), line
    assert all(printable(line) == line for line in topology.describe().split("\n"))


def test_topic_between_two_groups_is_drawn_as_one_box() -> None:
    builder = TopologyBuilder("chain")
    middle = Topic("middle", key=TEXT, value=TEXT)
    builder.add_sink("to", middle, builder.add_source("a", Topic("in", key=TEXT, value=TEXT)))
    builder.add_sink("end", to_stdout(), builder.add_source("b", middle))
    text = builder.build().to_mermaid()
    assert text.count('"middle"') == 1
    assert "  t1 --> n2\n" in text
    assert "  n1 --> t1\n" in text


def test_store_shared_by_two_nodes_is_drawn_as_one_cylinder() -> None:
    builder = TopologyBuilder("shared")
    store = key_value_store("shared", key=TEXT, value=INT64)
    node = builder.add_source("in", Topic("in", key=TEXT, value=TEXT))
    builder.add_processor("a", Keeps, node, stores=[store])
    builder.add_processor("b", Keeps, node, stores=[store])
    text = builder.build().to_mermaid()
    assert text.count('[("shared")]') == 1
    assert "  n1 -.- s0\n  n2 -.- s0\n" in text


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_accepts_hostile_names() -> None:
    drawn = subprocess.run(
        ["dot", "-Tplain"],
        input=named(HOSTILE).to_dot(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert drawn.stderr == ""
