"""`limit_rate` equals a model, whatever the batch boundaries."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder
from kstreams.aggregators import sum_
from kstreams.durations import milliseconds
from kstreams.emit import at_most_every, each_update, suppress, until_window_closes
from kstreams.errors import TopologyError
from kstreams.operators import limit_rate, peek
from kstreams.stores import buffer_store, key_value_store, window_store
from kstreams.testing import TopologyTestDriver
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate

SOURCE: Topic[str | None, Any] = Topic("in", TEXT, INT64, nulls="pass", null_keys="pass")
SINK: Topic[Any, Any] = Topic("out", TEXT, INT64, nulls="pass", null_keys="pass")
HELD: Any = buffer_store("held", key=TEXT, value=INT64)

Row = tuple[str, "int | None", int]
"""Key, value and timestamp (ms) of a record."""
ROWS = st.lists(
    st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 9), st.integers(0, 40)),
    max_size=20,
)
CUTS = st.sets(st.integers(1, 15), max_size=3)


def driver_of(interval: int, *, recreate: bool = True, **options: Any) -> TopologyTestDriver:
    builder = TopologyBuilder("rate", **options)
    limited: Any = limit_rate(at_most_every(milliseconds(interval)), store=HELD)
    node: Any = builder.add_processor("limited", limited, builder.add_source("in", SOURCE))
    builder.add_sink("out", SINK, node)
    return TopologyTestDriver(builder.build(), recreate_processors=recreate)


def read(driver: TopologyTestDriver) -> list[Row]:
    return [(record.key, record.value, record.timestamp) for record in driver.read(SINK)]


def steps(driver: TopologyTestDriver, *rows: Row) -> list[list[Row]]:
    found = []
    for key, value, time in rows:
        driver.pipe(SOURCE, key, value, timestamp=time)
        found.append(read(driver))
    return found


def expected(interval: int, rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """Return the forwarded records, and the records held at the end."""
    free: dict[str, int] = {}
    held: dict[str, Row] = {}
    found: list[Row] = []
    now = -1

    def forward(row: Row) -> None:
        free[row[0]] = now + interval
        held.pop(row[0], None)
        found.append(row)

    for row in rows:
        now = max(now, row[2])
        if free.get(row[0], now) <= now:
            forward(row)
        else:
            held[row[0]] = row
        for key in sorted(held, key=lambda key: (free[key], key)):
            if free[key] <= now:
                forward(held[key])
    return found, [held[key] for key in sorted(held, key=lambda key: (free[key], key))]


@pytest.mark.long
@settings(max_examples=150)
@given(st.integers(1, 15), ROWS, CUTS)
def test_limit_rate_equals_model(interval: int, rows: list[Row], cuts: set[int]) -> None:
    forwarded, held = expected(interval, rows)
    ends = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
    with driver_of(interval) as driver:
        found = []
        for low, high in pairwise(ends):
            driver.pipe_batch(SOURCE, [Record(*row) for row in rows[low:high]])
            found += read(driver)
        assert found == forwarded
        driver.close_windows()
        assert read(driver) == held
        driver.close_windows()
        assert read(driver) == []


def test_limit_rate_forwards_first_record_of_key_at_once_and_last_after_interval() -> None:
    rows: list[Row] = [("a", 1, 0), ("a", 2, 3), ("b", 5, 4), ("a", 3, 9), ("b", 6, 10)]
    with driver_of(10) as driver:
        assert steps(driver, *rows) == [[rows[0]], [], [rows[2]], [], [rows[3]]]
        assert steps(driver, ("c", 7, 14)) == [[("c", 7, 14), ("b", 6, 10)]]


def test_record_at_end_of_interval_replaces_buffered_record_of_limit_rate() -> None:
    with driver_of(10) as driver:
        assert steps(driver, ("a", 1, 0), ("a", 2, 3), ("a", 3, 10)) == [
            [("a", 1, 0)],
            [],
            [("a", 3, 10)],
        ]
        assert steps(driver, ("b", 0, 99)) == [[("b", 0, 99)]]


def test_idle_timeout_releases_last_rate_limited_record_of_quiet_topic() -> None:
    with driver_of(10, idle_timeout=milliseconds(20)) as driver:
        assert steps(driver, ("a", 1, 0), ("a", None, 3)) == [[("a", 1, 0)], []]
        driver.advance_wall_clock(milliseconds(20))
        assert read(driver) == [("a", None, 3)]


def test_limit_rate_keeps_headers_and_drops_records_without_key() -> None:
    with driver_of(10) as driver:
        driver.pipe(SOURCE, "a", 1, timestamp=0)
        driver.pipe(SOURCE, "a", 2, timestamp=1, headers=(("h", b"1"),))
        driver.pipe(SOURCE, None, 3, timestamp=10)
        assert driver.read(SINK)[1:] == [Record("a", 2, 1, (("h", b"1"),))]
        assert driver.dropped == {"null-key": 1}


def test_failed_record_does_not_start_rate_interval_of_its_key() -> None:
    def reject(_: str, value: int) -> None:
        if value == 1:
            raise ValueError("one")

    builder = TopologyBuilder("rate", on_error="skip")
    limited: Any = limit_rate(at_most_every(milliseconds(10)), store=HELD)
    node: Any = builder.add_processor("limited", limited, builder.add_source("in", SOURCE))
    builder.add_sink("out", SINK, builder.add_processor("check", peek(reject), node))
    with TopologyTestDriver(builder.build(), recreate_processors=False) as driver:
        assert steps(driver, ("a", 1, 0), ("a", 2, 1)) == [[], [("a", 2, 1)]]


@pytest.mark.parametrize("execution", ["records", "columns"])
def test_limit_rate_of_window_updates_is_equal_by_columns_and_by_records(execution: Any) -> None:
    windows = TumblingWindows(milliseconds(50))
    key = windowed(TEXT, windows)
    builder = TopologyBuilder("rate")
    source: Any = builder.add_source("in", Topic("in", TEXT, INT64))
    sums: Any = windowed_aggregate(
        windows,
        sum_(INT64),
        store=window_store("sums", key=TEXT, value=INT64),
        emit=each_update(),
        execution=execution,
    )
    limited: Any = limit_rate(
        at_most_every(milliseconds(10)), store=buffer_store("held", key=key, value=INT64)
    )
    node: Any = builder.add_processor(
        "limited", limited, builder.add_processor("sums", sums, source)
    )
    sink: Any = Topic("out", key, INT64)
    builder.add_sink("out", sink, node)
    with TopologyTestDriver(builder.build()) as driver:
        rows = [("a", 1, 0), ("a", 2, 4), ("b", 1, 5), ("a", 4, 8), ("b", 2, 11), ("a", 8, 30)]
        driver.pipe_batch(Topic("in", TEXT, INT64), [Record(*row) for row in rows])
        found = [(record.key.key, record.value) for record in driver.read(sink)]
    assert found == [("a", 1), ("b", 1), ("a", 7), ("a", 15), ("b", 3)]


def test_limit_rate_rejects_invalid_stores_and_following_suppress() -> None:
    wrong: Any = key_value_store("held", key=TEXT, value=INT64)
    with pytest.raises(TopologyError, match="limit_rate needs"):
        limit_rate(at_most_every(milliseconds(1)), store=wrong)
    windows = TumblingWindows(milliseconds(5))
    key: Any = windowed(TEXT, windows)
    builder = TopologyBuilder("rate")
    held: Any = buffer_store("held", key=key, value=INT64)
    finals: Any = buffer_store("finals", key=key, value=INT64)
    source: Any = builder.add_source("in", Topic("in", key, INT64))
    limited = builder.add_processor(
        "limited", limit_rate(at_most_every(milliseconds(1)), store=held), source
    )
    builder.add_processor("finals", suppress(until_window_closes(windows), store=finals), limited)
    with pytest.raises(
        TopologyError, match="node 'limited' forwards this result later, by at_most_every"
    ):
        builder.build()
