"""The text form of a topology."""

from __future__ import annotations

from datetime import datetime, timezone

from kstreams import BYTES, INT64, TEXT, Topic, TopologyBuilder, map_values
from kstreams.io import topic_by
from kstreams.operators import limit
from kstreams.partitioner import partition_by
from kstreams.sources import items
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.topology import to_function, to_stdout
from tests.support.topologies.word_count import COUNTS, LINES, Keeps, Tables, source, word_count

WORD_COUNT = """\
Topology: word-count
  Group: lines (Sub-topology: 0)
    Source: lines (topic: lines, key: bytes, value: text)
      --> split
    Processor: split (stores: [])
      --> by-word
      <-- lines
    Repartition: by-word (to group: by-word, key: text, value: none)
      <-- split
  Group: by-word (Sub-topology: 1)
    Repartition: by-word (from group: lines)
      --> count
    Processor: count (stores: [counts])
      --> totals, print
      <-- by-word
    Sink: totals (topic: totals, key: text, value: int64)
      <-- count
    Sink: print (stdout)
      <-- count
    Store: counts (key-value, key: text, value: int64)
"""

OPTIONS = """\
Topology: options
  Group: in (Sub-topology: 0)
    Source: in (topic: in, key: bytes, value: text, nulls: pass, null keys: pass, start: latest)
      --> last
    Processor: last (stores: [a, b])
      --> none
      <-- in
    Store: a (key-value, key: text, value: int64)
    Store: b (key-value, key: text, value: int64)
  Group: lines (Sub-topology: 1)
    Source: lines (topic: lines, key: bytes, value: text, start: 2024-01-01T00:00:00+00:00)
      --> tables
    Processor: tables (batch, stores: [])
      --> edge
      <-- lines
    Repartition: edge (to group: edge, key: text, value: int64, partitions: 4, partitioner: mine)
      <-- tables
  Group: edge (Sub-topology: 2)
    Repartition: edge (from group: lines)
      --> chosen, called
    Sink: chosen (topic: chosen per record, key: text, value: int64)
      <-- edge
    Sink: called (function: print)
      <-- edge
"""

HOSTILE = """\
Topology: hostile
  Group: "a, b" (Sub-topology: 0)
    Source: "a, b" (topic: "a, b", key: text, value: text)
      --> "x --> y", "(stores: [])", "\\"", ümlaut ok, ""
    Processor: "x --> y" (stores: [])
      --> none
      <-- "a, b"
    Processor: "(stores: [])" (stores: [])
      --> none
      <-- "a, b"
    Processor: "\\"" (stores: [])
      --> none
      <-- "a, b"
    Processor: ümlaut ok (stores: [])
      --> none
      <-- "a, b"
    Processor: " " (stores: [])
      --> none
      <-- "a, b"
""".replace('ümlaut ok, ""', 'ümlaut ok, " "')


def test_description_of_word_count_equals_recorded_text() -> None:
    assert word_count().describe() == WORD_COUNT


def test_description_names_options_that_differ_from_default() -> None:
    builder = TopologyBuilder("options")
    raw = Topic("in", key=BYTES, value=TEXT, nulls="pass", null_keys="pass")
    other = key_value_store("b", key=TEXT, value=INT64)
    first = key_value_store("a", key=TEXT, value=INT64)
    head = builder.add_source("in", raw, start="latest")
    builder.add_processor("last", Keeps, head, stores=[first, other])
    start = datetime(2024, 1, 1, tzinfo=timezone.utc)
    tables = builder.add_processor(
        "tables", Tables, builder.add_source("lines", LINES, start=start)
    )
    edge = builder.repartition(
        "edge",
        tables,
        key=TEXT,
        value=INT64,
        partitions=4,
        partitioner=partition_by(lambda key, count: 0, name="mine"),
    )
    builder.add_sink("chosen", topic_by(lambda record: record.key, key=TEXT, value=INT64), edge)
    builder.add_sink("called", to_function(print), edge)
    assert builder.build().describe() == OPTIONS


def test_description_names_limits_and_bounded_sources() -> None:
    builder = TopologyBuilder("limits")
    words = builder.add_source("words", items("words", ["a"], TEXT))
    builder.add_sink("out", to_stdout(), builder.add_processor("first", limit(3), words))
    text = builder.build().describe()
    assert "Source: words (log: words, 1 items, bounded, key: none, value: text)" in text
    assert "Processor: first (limit: 3, stores: [])" in text


def test_names_cannot_imitate_other_parts_of_description() -> None:
    builder = TopologyBuilder("hostile")
    head = source(builder, "a, b")
    for name in ("x --> y", "(stores: [])", '"', "ümlaut ok", " "):
        builder.add_processor(name, Keeps, head)
    assert builder.build().describe() == HOSTILE


def test_description_has_no_addresses_or_times() -> None:
    def lengths() -> str:
        builder = TopologyBuilder("lambda")
        node = builder.add_processor("len", map_values(lambda v: v), source(builder, "in"))
        builder.add_processor("count", Keeps, node, stores=[COUNTS])
        builder.add_sink("out", to_stdout(), node)
        return builder.build().describe()

    assert lengths() == lengths()
    assert "0x" not in lengths()
