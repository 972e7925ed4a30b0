"""Tables of topics and streams, joins of tables, and their streams of changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kstreams import (
    INT64,
    TEXT,
    Processor,
    ProcessorContext,
    Record,
    Topic,
    TopologyBuilder,
    aggregate,
    timestamped_store,
)
from kstreams.aggregators import count
from kstreams.emit import each_update
from kstreams.errors import TopologyError
from kstreams.joins import Change, JoinerSupplier, OneSided, inner, left, outer
from kstreams.stores import key_value_store
from kstreams.testing import TopologyTestDriver

LEFT, RIGHT = Topic("left", TEXT, TEXT), Topic("right", TEXT, TEXT)
OUT = Topic("out", TEXT, TEXT, nulls="pass")
TEXTS = Topic("texts", TEXT, TEXT)
NUMBERS = Topic("numbers", TEXT, INT64, nulls="pass")
LEFTS = timestamped_store("lefts", key=TEXT, value=TEXT)
RIGHTS = timestamped_store("rights", key=TEXT, value=TEXT)
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)


def pair(one: str | None, other: str | None) -> str:
    return f"{one}+{other}"


def test_rows_of_table_are_last_values_of_keys() -> None:
    builder = TopologyBuilder("t")
    table = builder.add_table("table", LEFT, store=LEFTS)
    builder.add_sink("out", OUT, builder.to_stream("each", table, emit=each_update()))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe_batch(LEFT, [Record("a", "1", 5), Record("a", "2", 3), Record("b", "3", 4)])
        driver.write_bytes("left", b"b", None, timestamp=9)
        driver.write_bytes("left", None, b"x", timestamp=9)
        driver.run()
        assert [(r.key, r.value, r.timestamp) for r in driver.read(OUT)] == [
            ("a", "1", 5),
            ("a", "2", 3),
            ("b", "3", 4),
            ("b", None, 9),
        ]
        assert driver.store_contents(LEFTS) == {"a": ("2", 3)}
        assert driver.dropped == {"null-key": 1}


def test_stream_of_table_has_last_change_of_each_key_and_batch() -> None:
    builder = TopologyBuilder("t")
    builder.add_sink("out", OUT, builder.to_stream("s", builder.add_table("t", LEFT, store=LEFTS)))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe_batch(LEFT, [Record("a", "1"), Record("b", "2"), Record("a", "3")])
        driver.pipe_batch(LEFT, [Record("a", "4"), Record("b", "5"), Record("a", "3")])
        assert [(r.key, r.value) for r in driver.read(OUT)] == [("a", "3"), ("b", "2"), ("b", "5")]


def test_derived_table_forwards_nothing_for_rows_that_never_passed_its_filter() -> None:
    builder = TopologyBuilder("t")
    table = builder.add_table("table", LEFT, store=LEFTS)
    kept = timestamped_store("kept", key=TEXT, value=INT64)
    long = builder.derive("long", table, lambda _, v: len(v) if len(v) > 1 else None, store=kept)
    builder.add_sink("out", NUMBERS, builder.to_stream("each", long, emit=each_update()))
    with TopologyTestDriver(builder.build()) as driver:
        for value in ("a", "aa", "aaa", "b", "c"):
            driver.pipe(LEFT, "k", value)
        assert [r.value for r in driver.read(NUMBERS)] == [2, 3, None]
        assert driver.store_contents(kept) == {}


def test_result_of_table_table_join_has_later_time_of_both_rows() -> None:
    builder = TopologyBuilder("t")
    lefts = builder.add_table("l", LEFT, store=LEFTS)
    rights = builder.add_table("r", RIGHT, store=RIGHTS)
    joined = builder.join_tables("j", lefts, rights, inner(pair))
    builder.add_sink("out", OUT, builder.to_stream("each", joined, emit=each_update()))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(LEFT, "k", "A", timestamp=1)
        driver.pipe(RIGHT, "k", "b", timestamp=5)
        driver.pipe(LEFT, "k", "C", timestamp=3)
        assert [(r.value, r.timestamp) for r in driver.read(OUT)] == [("A+b", 5), ("C+b", 5)]


Maker = Callable[[Callable[[Any, Any], str]], JoinerSupplier[Any, Any, str, OneSided]]


@pytest.mark.parametrize("how", [inner, left, outer])
def test_record_that_changes_both_tables_gives_one_result(how: Maker) -> None:
    builder = TopologyBuilder("t")
    table = builder.add_table("table", LEFT, store=LEFTS)
    upper = builder.derive("upper", table, lambda _, value: value.upper())
    joined = builder.join_tables("j", table, upper, how(pair))
    again = builder.join_tables("again", joined, upper, how(pair))
    builder.add_sink("out", OUT, builder.to_stream("each", again, emit=each_update()))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(LEFT, "k", "a")
        driver.pipe(LEFT, "k", "b")
        assert [r.value for r in driver.read(OUT)] == ["a+A+A", "b+B+B"]


def test_stream_record_that_changed_a_table_row_is_joined_with_changed_row() -> None:
    builder = TopologyBuilder("t")
    stream = builder.add_source("stream", LEFT)
    counted = builder.aggregate_table("counts", aggregate(count(), store=COUNTS), stream)
    joined = builder.join_table("j", stream, counted, left(lambda text, n: f"{text}{n}"))
    builder.add_sink("out", TEXTS, joined)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe_batch(LEFT, [Record("k", "a"), Record("k", "b")])
        assert [r.value for r in driver.read(TEXTS)] == ["a1", "b2"]


def test_table_rows_are_processed_before_stream_records_of_equal_time() -> None:
    builder = TopologyBuilder("t")
    stream = builder.add_source("stream", LEFT)
    table = builder.add_table("table", RIGHT, store=RIGHTS)
    builder.add_sink("out", TEXTS, builder.join_table("j", stream, table, left(pair)))
    topology = builder.build()
    assert topology.groups[0].table_entries == {"table.source"}
    with TopologyTestDriver(topology) as driver:
        driver.write(LEFT, "k", "a", timestamp=7)
        driver.write(RIGHT, "k", "x", timestamp=7)
        driver.run()
        assert [r.value for r in driver.read(TEXTS)] == ["a+x"]


class Look(Processor[str, str, str, str]):
    """Forwards the row of a table for each key."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        self.table = context.reader(RIGHTS)

    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record.with_value(str(self.table.get(record.key))))


def test_processor_reads_table_and_cannot_write_it() -> None:
    builder = TopologyBuilder("t")
    builder.add_table("table", RIGHT, store=RIGHTS)
    looked = builder.add_processor("look", Look, builder.add_source("s", LEFT), reads=[RIGHTS])
    builder.add_sink("out", TEXTS, looked)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(RIGHT, "k", "row")
        driver.pipe(LEFT, "k", "?")
        driver.pipe(LEFT, "other", "?")
        assert [r.value for r in driver.read(TEXTS)] == ["row", "None"]


def test_read_of_store_that_is_not_a_table_is_rejected() -> None:
    builder = TopologyBuilder("t")
    builder.add_processor("look", Look, builder.add_source("s", LEFT), reads=[RIGHTS])
    with pytest.raises(TopologyError, match="no table of this topology has this store"):
        builder.build()


def test_table_rejects_store_of_other_kind() -> None:
    store = key_value_store("plain", key=TEXT, value=TEXT)
    with pytest.raises(TopologyError, match="key-value store, which is not a store of tables"):
        TopologyBuilder("t").add_table("table", LEFT, store=store)  # type: ignore[arg-type]


def test_change_objects_are_compared_by_value() -> None:
    assert Change("a", None) == Change("a", None)
    assert Change("a", None) != Change("a", None, latest=False)
    assert repr(Change("a", None, latest=False)) == "Change(new='a', old=None, latest=False)"
