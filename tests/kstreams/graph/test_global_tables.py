"""Global tables in a topology: validation, groups and description."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import INT64, TEXT, Topic, TopologyBuilder, map_values
from kstreams.errors import TopologyError
from kstreams.graph.pictures.drawing import draw
from kstreams.joins import inner, left, outer
from kstreams.stores import key_value_store, timestamped_store
from kstreams.topology import AppTable

WORDS, CLICKS, OUT = (
    Topic("words", TEXT, TEXT),
    Topic("clicks", INT64, TEXT),
    Topic("o", INT64, TEXT),
)
TABLE = timestamped_store("words-table", key=TEXT, value=TEXT)
OTHER = timestamped_store("other", key=TEXT, value=TEXT)


def joined() -> TopologyBuilder:
    builder = TopologyBuilder("translated")
    words = builder.add_global_table("words", WORDS, store=TABLE)
    clicks = builder.add_source("clicks", CLICKS)
    found = builder.join_global(
        "join", clicks, words, left(lambda text, word: word or text), by=lambda _, text: text
    )
    builder.add_sink("out", OUT, found)
    return builder


def test_global_table_is_separate_query_before_its_readers() -> None:
    topology = joined().build()
    assert [group.name for group in topology.groups] == ["words.source", "clicks"]
    assert len(topology.pipelines()) == 2
    assert [spec.name for spec in topology.stores] == ["words-table"]
    assert [spec.name for spec in topology.groups[1].global_stores] == ["words-table"]


def test_global_table_added_after_its_reader_precedes_it_in_order_of_groups() -> None:
    builder = TopologyBuilder("late")
    clicks = builder.add_source("clicks", CLICKS)
    seen = builder.add_processor("see", map_values(str), clicks, reads=[TABLE])
    builder.add_sink("out", OUT, seen)
    builder.add_global_table("words", WORDS, store=TABLE)
    assert [group.name for group in builder.build().groups] == ["words.source", "clicks"]


def test_global_table_of_another_app_adds_no_query() -> None:
    builder = TopologyBuilder("reads")
    builder.add_global_table("words", AppTable("checkpoints/translator", TABLE))
    seen = builder.add_processor(
        "see", map_values(str), builder.add_source("clicks", CLICKS), reads=[TABLE]
    )
    builder.add_sink("out", OUT, seen)
    topology = builder.build()
    assert [group.name for group in topology.groups] == ["clicks"]
    assert topology.stores == ()
    assert [table.name for table in topology.globals] == ["words"]
    assert topology.shape()["clicks"]["stores"] == {}


def test_store_of_global_table_cannot_be_used_by_processors() -> None:
    builder = joined()
    builder.add_processor("own", map_values(str), builder.add_source("more", WORDS), stores=[TABLE])
    with pytest.raises(TopologyError) as caught:
        builder.build()
    assert any("tasks may only read it: use reads=" in text for text in caught.value.problems)


def test_two_global_tables_with_one_store_are_rejected() -> None:
    builder = joined()
    builder.add_global_table("more", AppTable("elsewhere", TABLE))
    with pytest.raises(TopologyError, match="both have store 'words-table'"):
        builder.build()


def test_processor_that_reads_a_store_without_global_table_is_rejected() -> None:
    builder = joined()
    builder.add_processor("see", map_values(str), builder.add_source("m", WORDS), reads=[OTHER])
    with pytest.raises(TopologyError, match="add_global_table"):
        builder.build()


def test_invalid_arguments_of_global_tables_fail_at_the_call() -> None:
    builder = TopologyBuilder("wrong")
    calls: Any = builder
    values: Any = key_value_store("kv", key=TEXT, value=TEXT)
    with pytest.raises(TopologyError, match="has no store"):
        calls.add_global_table("words", WORDS)
    with pytest.raises(TopologyError, match="must not have store="):
        calls.add_global_table("words", AppTable("elsewhere", TABLE), store=TABLE)
    with pytest.raises(TopologyError, match="which is not a store of tables"):
        calls.add_global_table("words", AppTable("elsewhere", values))
    words = builder.add_global_table("table", WORDS, store=TABLE)
    clicks = builder.add_source("clicks", CLICKS)
    with pytest.raises(TopologyError, match="no outer join"):
        calls.join_global("j", clicks, words, outer(lambda a, b: a), by=lambda k, v: v)
    with pytest.raises(TopologyError, match="needs a global table"):
        calls.join_global("j", clicks, clicks, inner(lambda a, b: a), by=lambda k, v: v)


def test_pictures_show_global_tables_read_by_each_node() -> None:
    builder = joined()
    builder.add_global_table("more", AppTable(".kstreams/other", OTHER))
    source = builder.add_source("m", Topic("m", TEXT, TEXT))
    seen = builder.add_processor("see", map_values(str), source, reads=[OTHER])
    builder.add_sink("o2", Topic("o2", TEXT, TEXT), seen)
    topology = builder.build()
    text = topology.describe()
    assert "Processor: join (stores: [], global tables: [words-table])" in text
    serdes = "timestamped, key: text, value: text"
    own, others = "of group: words.source", 'of app: ".kstreams/other"'
    assert f"Global table: words (store: words-table, {serdes}, {own})" in text
    assert f"Global table: more (store: other, {serdes}, {others})" in text
    drawing = draw(topology)
    labels = {box.id: box.label for _, boxes in drawing.groups for box in boxes}
    labels |= {box.id: box.label for box in drawing.outside}
    arrows = {(labels[arrow.start], labels[arrow.end]) for arrow in drawing.arrows}
    assert ("words-table", "join") in arrows
    assert ("other, of app .kstreams/other", "see") in arrows
