"""Versioned tables: past rows, late rows, and rows older than the retention."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import TEXT, Topic, TopologyBuilder, timestamped_store
from kstreams.durations import milliseconds
from kstreams.emit import each_update
from kstreams.errors import TopologyError
from kstreams.joins import Change, inner, left
from kstreams.processors.columns import Execution
from kstreams.processors.peek import peek
from kstreams.stores import queue_store, versioned_key_value_store
from kstreams.testing import TopologyTestDriver

STREAM, TABLE = Topic("stream", TEXT, TEXT), Topic("table", TEXT, TEXT, nulls="pass")
OTHER = Topic("other", TEXT, TEXT)
OUT, CHANGES = Topic("out", TEXT, TEXT), Topic("changes", TEXT, TEXT, nulls="pass")
HISTORY = versioned_key_value_store("h", key=TEXT, value=TEXT, retention=milliseconds(20))
PLAIN = timestamped_store("p", key=TEXT, value=TEXT)


def text(one: str, other: str | None) -> str:
    return f"{one}+{other}"


def topology(store: Any, joiner: Any) -> TopologyBuilder:
    builder = TopologyBuilder("t")
    table: Any = builder.add_table("table", TABLE, store=store)
    joined: Any = builder.join_table("j", builder.add_source("stream", STREAM), table, joiner)
    builder.add_sink("out", OUT, joined)
    return builder


def values(driver: TopologyTestDriver) -> list[str]:
    return [row.value for row in driver.read(OUT)]


@pytest.mark.parametrize(
    ("store", "expected"), [(PLAIN, ["x+2", "x+2"]), (HISTORY, ["x+1", "x+2"])]
)
def test_join_with_table_uses_last_row_by_arrival_and_with_versioned_table_by_time(
    store: Any, expected: list[str]
) -> None:
    with TopologyTestDriver(topology(store, left(text)).build()) as driver:
        driver.pipe(TABLE, "k", "1", timestamp=10)
        driver.pipe(TABLE, "k", "2", timestamp=5 if store is PLAIN else 12)
        driver.pipe(STREAM, "k", "x", timestamp=10)
        driver.pipe(STREAM, "k", "x", timestamp=12)
        assert values(driver) == expected


def test_late_version_does_not_change_latest_row_or_tombstone() -> None:
    """The version is in the history; joins, `to_stream` and derived tables do not show it."""
    builder = TopologyBuilder("t")
    seen: list[Change[str]] = []
    table = builder.add_table("table", TABLE, store=HISTORY)
    joined = builder.join_table("j", builder.add_source("stream", STREAM), table, left(text))
    builder.add_sink("out", OUT, joined)
    builder.add_processor("seen", peek(lambda _, change: seen.append(change)), table)
    loud = builder.derive("loud", table, lambda _, value: value.upper())
    plain = builder.add_table("other", OTHER, store=PLAIN)
    both = builder.join_tables("both", loud, plain, left(text))
    builder.add_sink("changes", CHANGES, builder.to_stream("each", both, emit=each_update()))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(TABLE, "k", "b", timestamp=10)
        driver.pipe(TABLE, "k", "a", timestamp=5)
        driver.pipe(TABLE, "k", None, timestamp=15)
        driver.pipe(TABLE, "k", "c", timestamp=12)
        assert seen == [
            Change("b", None),
            Change("a", "b", latest=False),
            Change(None, "b"),
            Change("c", None, latest=False),
        ]
        assert [row.value for row in driver.read(CHANGES)] == ["B+None", None]
        for time in (5, 10, 12, 15):
            driver.pipe(STREAM, "k", str(time), timestamp=time)
        assert values(driver) == ["5+a", "10+b", "12+c", "15+None"]


def test_versioned_table_keeps_tombstone_at_time_of_its_only_version() -> None:
    """Kafka's store drops the tombstone, so an older value put later becomes visible."""
    with TopologyTestDriver(topology(HISTORY, left(text)).build()) as driver:
        driver.pipe(TABLE, "k", "a", timestamp=2)
        driver.pipe(TABLE, "k", None, timestamp=2)
        driver.pipe(TABLE, "k", "older", timestamp=0)
        driver.pipe(STREAM, "k", "x", timestamp=3)
        driver.pipe(STREAM, "k", "x", timestamp=1)
        assert values(driver) == ["x+None", "x+older"]


def test_version_older_than_retention_is_counted_as_dropped() -> None:
    builder = TopologyBuilder("t")
    table = builder.add_table("table", TABLE, store=HISTORY)
    seen: list[Change[str]] = []
    builder.add_processor("seen", peek(lambda _, change: seen.append(change)), table)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(TABLE, "k", "b", timestamp=100)
        driver.pipe(TABLE, "other", "a", timestamp=79)
        assert seen == [Change("b", None)]
        assert driver.store(HISTORY).get("other") is None
        assert driver.dropped == {"older-than-retention": 1}


@pytest.mark.parametrize(
    ("joiner", "expected"), [(inner(text), []), (left(text), ["x+None"])], ids=["inner", "left"]
)
def test_record_older_than_retained_history_is_joined_with_no_row_and_counted(
    joiner: Any, expected: list[str]
) -> None:
    with TopologyTestDriver(topology(HISTORY, joiner).build()) as driver:
        driver.pipe(TABLE, "k", "a", timestamp=0)
        driver.pipe(TABLE, "k", "b", timestamp=50)
        driver.pipe(STREAM, "k", "x", timestamp=29)
        assert values(driver) == expected
        assert driver.dropped == {"no-history": 1}


def test_old_row_within_history_is_found_and_not_counted_as_dropped() -> None:
    """The cases: an old row that is still valid, and a time before the first row."""
    with TopologyTestDriver(topology(HISTORY, left(text)).build()) as driver:
        driver.pipe(TABLE, "k", "a", timestamp=0)
        driver.pipe(TABLE, "other", "b", timestamp=50)
        driver.pipe(STREAM, "k", "x", timestamp=3)
        for key in ("none", "other"):
            driver.pipe(STREAM, key, "x", timestamp=40)
        assert values(driver) == ["x+a", "x+None", "x+None"]
        assert driver.dropped == {}


def test_versions_survive_recreation_of_processors_between_batches() -> None:
    built = topology(HISTORY, left(text)).build()
    with TopologyTestDriver(built, recreate_processors=True) as driver:
        for time, value in ((10, "a"), (20, "b"), (15, "c")):
            driver.write(TABLE, "k", value, timestamp=time)
        for time in (9, 12, 16, 25):
            driver.write(STREAM, "k", str(time), timestamp=time)
        driver.run()
        # the queues are merged by their running maximum of time, so "c" follows "b"
        assert values(driver) == ["9+None", "12+a", "16+a", "25+b"]


EXECUTIONS = pytest.mark.parametrize("execution", ["records", "columns"])


def exclaimed(_: str, value: str) -> str | None:
    return f"{value}!" if value != "hidden" else None


def starred(_: str, value: str) -> str:
    return f"{value}*"


@EXECUTIONS
@pytest.mark.parametrize("as_of", [False, True], ids=["join_table", "join_as_of"])
@pytest.mark.parametrize("chained", [False, True], ids=["once", "chained"])
def test_derived_table_of_versioned_table_is_versioned(
    chained: bool, as_of: bool, execution: Execution
) -> None:
    builder = TopologyBuilder("t")
    stream: Any = builder.add_source("stream", STREAM)
    table = builder.add_table("table", TABLE, store=HISTORY)
    derived = builder.derive("derived", table, exclaimed)
    if chained:
        derived = builder.derive("chained", derived, starred)
    if as_of:
        grace, waiting = milliseconds(0), queue_store("w", key=TEXT, value=TEXT)
        joined: Any = builder.join_as_of(
            "j", stream, derived, left(text), grace=grace, waiting=waiting, execution=execution
        )
    else:
        joined = builder.join_table("j", stream, derived, left(text), execution=execution)
    builder.add_sink("out", OUT, joined)
    with TopologyTestDriver(builder.build()) as driver:
        for time, value in ((10, "1"), (20, "2"), (22, "hidden"), (25, "3")):
            driver.write(TABLE, "A", value, timestamp=time)
        driver.run()
        for time in (5, 15, 20, 23, 30):
            driver.pipe(STREAM, "A", str(time), timestamp=time)
        end = "*" if chained else ""
        expected = ["5+None", f"15+1!{end}", f"20+2!{end}", "23+None", f"30+3!{end}"]
        assert values(driver) == expected
        assert driver.dropped == {}


def test_derive_of_versioned_table_with_store_keeps_its_versions() -> None:
    """The join reads old versions of the table, although the table's store has only latest rows."""
    builder = TopologyBuilder("t")
    table = builder.add_table("table", TABLE, store=HISTORY)
    derived = builder.derive("derived", table, exclaimed, store=PLAIN)
    stream = builder.add_source("stream", STREAM)
    builder.add_sink("out", OUT, builder.join_table("j", stream, derived, left(text)))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(TABLE, "A", "1", timestamp=10)
        driver.pipe(TABLE, "A", "2", timestamp=20)
        driver.pipe(STREAM, "A", "x", timestamp=15)
        assert values(driver) == ["x+1!"]
        assert driver.store(PLAIN).get("A") == ("2!", 20)


def test_derive_rejects_versioned_store() -> None:
    builder = TopologyBuilder("t")
    table = builder.add_table("table", TABLE, store=HISTORY)
    other: Any = versioned_key_value_store("o", key=TEXT, value=TEXT, retention=milliseconds(1))
    with pytest.raises(TopologyError, match="table 'd': store 'o' is a versioned store"):
        builder.derive("d", table, exclaimed, store=other)


@EXECUTIONS
def test_derive_of_versioned_table_counts_records_older_than_history(
    execution: Execution,
) -> None:
    """A version that the function of `derive` removes is not counted as missing history."""
    builder = TopologyBuilder("t")
    stream: Any = builder.add_source("stream", STREAM)
    table = builder.derive("d", builder.add_table("table", TABLE, store=HISTORY), exclaimed)
    joined: Any = builder.join_table("j", stream, table, left(text), execution=execution)
    builder.add_sink("out", OUT, joined)
    with TopologyTestDriver(builder.build()) as driver:
        for time, value in ((0, "a"), (40, "hidden"), (50, "b")):
            driver.pipe(TABLE, "k", value, timestamp=time)
        for time in (29, 45):
            driver.pipe(STREAM, "k", "x", timestamp=time)
        assert values(driver) == ["x+None", "x+None"]
        assert driver.dropped == {"no-history": 1}
