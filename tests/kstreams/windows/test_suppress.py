"""`suppress` until windows close and until a time limit, with limits of its buffer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder
from kstreams.aggregators import count
from kstreams.durations import milliseconds
from kstreams.emit import each_update, suppress, until_time_limit, until_window_closes
from kstreams.errors import LimitError, ProcessingError
from kstreams.errors.building import TopologyError
from kstreams.operators import peek
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.state.stores.buffer.rows import BufferRows
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.window.kind import window_store
from kstreams.windows import TumblingWindows, Windowed, windowed, windowed_aggregate
from kstreams_testing.driver import TopologyTestDriver

SOURCE: Topic[str, Any] = Topic("in", TEXT, INT64, nulls="pass")
SINK: Topic[str, Any] = Topic("out", TEXT, INT64, nulls="pass")
HELD: Any = buffer_store("held", key=TEXT, value=INT64)


def driver_of(until: Any, *, recreate: bool = True, policy: Any = "fail") -> TopologyTestDriver:
    builder = TopologyBuilder("suppress", on_error=policy)
    records = builder.add_source("in", SOURCE)
    supplier: Any = suppress(until, store=HELD)
    held: Any = builder.add_processor("held", supplier, records)
    builder.add_sink("out", SINK, held)
    return TopologyTestDriver(builder.build(), recreate_processors=recreate)


def steps(driver: TopologyTestDriver, *rows: tuple[str, int | None, int]) -> list[list[Any]]:
    found = []
    for key, value, timestamp in rows:
        driver.pipe(SOURCE, key, value, timestamp=timestamp)
        found.append([(r.key, r.value, r.timestamp) for r in driver.read(SINK)])
    return found


@pytest.mark.parametrize("recreate", [True, False])
def test_suppress_timer_starts_at_first_record_of_key(recreate: bool) -> None:
    with driver_of(until_time_limit(milliseconds(2)), recreate=recreate) as driver:
        rows = [("v1", 1, 0), ("v1", 0, 1), ("v2", 1, 1), ("v1", 1, 2), ("x", 9, 3), ("x", 8, 4)]
        assert steps(driver, *rows) == [[], [], [], [("v1", 1, 2)], [("v2", 1, 1)], []]


def test_suppress_buffers_and_releases_null_value_like_others() -> None:
    with driver_of(until_time_limit(milliseconds(2))) as driver:
        assert steps(driver, ("a", 1, 0), ("a", None, 1), ("b", 1, 2)) == [[], [], [("a", None, 1)]]


def test_suppress_with_zero_time_limit_releases_immediately() -> None:
    with driver_of(until_time_limit(milliseconds(0))) as driver:
        rows = [("a", 1, 5), ("b", 1, 5), ("b", 2, 4), ("c", 3, 6)]
        assert steps(driver, *rows) == [[row] for row in rows]


def test_suppress_releases_record_due_on_arrival_immediately() -> None:
    with driver_of(until_time_limit(milliseconds(10))) as driver:
        assert steps(driver, ("a", 1, 100), ("b", 1, 50)) == [[], [("b", 1, 50)]]


def test_suppress_releases_due_records_before_it_checks_its_limit() -> None:
    until = until_time_limit(milliseconds(10), max_records=1, full="fail")
    with driver_of(until) as driver:
        rows = [("a", 1, 0), ("b", 1, 10), ("c", 1, 5), ("c", 1, 0)]
        assert steps(driver, *rows[:2]) == [[], [("a", 1, 0)]]
        assert steps(driver, rows[3]) == [[("c", 1, 0)]]
        with pytest.raises(LimitError):
            driver.pipe(SOURCE, "c", 1, timestamp=5)


def test_suppress_releases_second_result_of_closed_window_immediately() -> None:
    windows = TumblingWindows(milliseconds(100))
    key: Any = windowed(TEXT, windows)
    source: Any = Topic("in", key, INT64)
    store: Any = buffer_store("held", key=key, value=INT64)
    builder = TopologyBuilder("suppress")
    finals: Any = suppress(until_window_closes(windows), store=store)
    held: Any = builder.add_processor("held", finals, builder.add_source("in", source))
    builder.add_sink("out", Topic("out", key, INT64), held)
    with TopologyTestDriver(builder.build()) as driver:
        for name in "ab":
            driver.pipe(source, Windowed(name, 0, 100), 1, timestamp=100)
            assert [record.key.key for record in driver.read(Topic("out", key, INT64))] == [name]


@pytest.mark.parametrize("until", ["window", "limit"])
def test_idle_timeout_releases_last_suppressed_records_of_quiet_topic(until: str) -> None:
    windows = TumblingWindows(milliseconds(100))
    key: Any = windowed(TEXT, windows)
    source: Any = Topic("in", key, INT64)
    sink: Any = Topic("out", key, INT64)
    rule: Any = (
        until_window_closes(windows) if until == "window" else until_time_limit(milliseconds(30))
    )
    builder = TopologyBuilder("suppress", idle_timeout=milliseconds(40))
    finals: Any = suppress(rule, store=buffer_store("held", key=key, value=INT64))
    held: Any = builder.add_processor("held", finals, builder.add_source("in", source))
    builder.add_sink("out", sink, held)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(source, Windowed("a", 0, 100), 1, timestamp=95)
        driver.pipe(source, Windowed("b", 0, 100), 1, timestamp=99)
        assert driver.read(sink) == []
        driver.advance_wall_clock(milliseconds(40))
        assert [record.key.key for record in driver.read(sink)] == ["a", "b"]


def test_suppress_repeats_release_after_rollback() -> None:
    seen: list[str] = []

    def fail_once(key: str, _: Any) -> None:
        seen.append(key)
        if len(seen) == 1:
            raise ValueError("once")

    builder = TopologyBuilder("suppress", on_error="skip")
    until: Any = suppress(until_time_limit(milliseconds(10)), store=HELD)
    held: Any = builder.add_processor("held", until, builder.add_source("in", SOURCE))
    builder.add_sink("out", SINK, builder.add_processor("once", peek(fail_once), held))
    with TopologyTestDriver(builder.build(), recreate_processors=False) as driver:
        assert steps(driver, ("a", 1, 0), ("b", 1, 20)) == [[], [("a", 1, 0)]]
        assert driver.dropped == {"skipped-ProcessingError": 1}


def test_suppress_releases_earliest_record_above_record_limit() -> None:
    until = until_time_limit(milliseconds(100), max_records=1)
    with driver_of(until) as driver:
        assert steps(driver, ("a", 1, 5), ("a", 2, 6), ("b", 3, 1), ("a", 4, 7)) == [
            [],
            [],
            [("b", 3, 1)],
            [],
        ]


def test_suppress_above_record_limit_raises_error_if_full_is_fail() -> None:
    until = until_time_limit(milliseconds(100), max_records=1, full="fail")
    with driver_of(until) as driver:
        driver.pipe(SOURCE, "a", 1, timestamp=0)
        with pytest.raises(ProcessingError, match="limit"):
            driver.pipe(SOURCE, "b", 1, timestamp=0)


@pytest.mark.parametrize("policy", ["skip", "fail"])
@pytest.mark.parametrize(
    "bounds", [{"max_records": 2}, {"max_bytes": 60}], ids=["records", "bytes"]
)
def test_full_suppress_buffer_is_not_reported_as_failed_record(policy: Any, bounds: Any) -> None:
    until = until_time_limit(milliseconds(100), full="fail", **bounds)
    with driver_of(until, policy=policy) as driver:
        assert steps(driver, ("a", 1, 0), ("b", 1, 0), ("a", 2, 1)) == [[], [], []]
        for _ in range(2):  # the batch is rolled back, and retried
            with pytest.raises(LimitError, match="has reached its limit") as caught:
                driver.pipe(SOURCE, "c", 1, timestamp=2)
            assert caught.value.where.node == "held"
            assert "max_bytes" in caught.value.hint
            assert driver.store(HELD).approximate_count() == 2


def test_suppress_releases_earliest_record_above_byte_limit() -> None:
    with driver_of(until_time_limit(milliseconds(100), max_bytes=60)) as driver:
        rows = [("a", 1, 5), ("b", 2, 1), ("b", 9, 7), ("c", 3, 6), ("d", 4, 6)]
        assert steps(driver, *rows) == [[], [], [], [("b", 9, 7)], [("a", 1, 5)]]
    with driver_of(until_time_limit(milliseconds(100), max_bytes=0)) as driver:
        assert steps(driver, ("a", 1, 5)) == [[("a", 1, 5)]]


def bytes_held(driver: TopologyTestDriver) -> tuple[int, int]:
    """Return the counted bytes and the actual bytes in the buffer."""
    store = driver.store(HELD)
    rows: Any = BufferRows.of(store)
    return rows.size_bytes(), sum(rows._bytes(r.key, kept) for r, kept in contents(store))


def contents(store: Any) -> list[Any]:
    records = [found.record for _, found in store.range()]
    return [(r, (r.value, r.timestamp, r.headers)) for r in records]


@pytest.mark.long
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 9), st.integers(0, 30)),
        max_size=20,
    ),
    st.sampled_from(["skip", "fail"]),
)
def test_suppress_byte_count_equals_bytes_in_buffer(
    rows: list[tuple[str, int | None, int]], policy: Any
) -> None:
    until = until_time_limit(milliseconds(5), max_bytes=75)
    with driver_of(until, policy=policy) as driver:
        for row in rows:
            steps(driver, row)
            counted, held = bytes_held(driver)
            assert counted == held <= 75


def test_suppress_counts_bytes_buffered_before_limit_was_added() -> None:
    with driver_of(until_time_limit(milliseconds(100)), recreate=False) as driver:
        steps(driver, ("a", 1, 0), ("b", 2, 0))
        held: BufferRows[str, int] = BufferRows.of(driver.store(HELD))
        assert bytes_held(driver)[0] == 0
        for key in "cd":
            held.measure(wanted=True)
            counted, there = bytes_held(driver)
            assert counted == there > 0
            held.measure(wanted=False)
            assert bytes_held(driver)[0] == 0
            steps(driver, (key, 1, 0))


def test_suppress_until_windows_close_stops_app_at_its_limit() -> None:
    windows = TumblingWindows(milliseconds(10))
    store: Any = buffer_store("held", key=windowed(TEXT, windows), value=INT64)
    for bounds in ({"max_records": 2}, {"max_bytes": 100}):
        builder = TopologyBuilder("suppress", on_error="skip")
        records = builder.add_source("in", SOURCE)
        counts: Any = windowed_aggregate(
            windows,
            count(),
            store=window_store("counts", key=TEXT, value=count().state),
            emit=each_update(),
        )
        node: Any = builder.add_processor("counts", counts, records)
        until = until_window_closes(windows, **bounds)
        builder.add_processor("held", suppress(until, store=store), node)
        with TopologyTestDriver(builder.build()) as driver:
            for key in ("a", "b", "a"):
                driver.pipe(SOURCE, key, 1, timestamp=1)
            with pytest.raises(LimitError, match="has reached its limit") as caught:
                driver.pipe(SOURCE, "c", 1, timestamp=2)
            assert "emit-early" not in caught.value.hint


def test_suppress_keeps_headers() -> None:
    headers = (("h", b"1"), ("h", None))
    with driver_of(until_time_limit(milliseconds(0))) as driver:
        driver.pipe(SOURCE, "a", 1, timestamp=0, headers=headers)
        assert driver.read(SINK) == [Record("a", 1, 0, headers)]


def test_suppress_rejects_invalid_arguments() -> None:
    with pytest.raises(ValueError, match="max_records"):
        until_time_limit(milliseconds(1), max_records=-1)
    with pytest.raises(ValueError, match="max_bytes is -1"):
        until_time_limit(milliseconds(1), max_bytes=-1)
    with pytest.raises(ValueError, match="max_records is -1"):
        until_window_closes(TumblingWindows(milliseconds(1)), max_records=-1)
    with pytest.raises(ValueError, match="limit"):
        until_time_limit(milliseconds(-1))
    wrong: Any = key_value_store("held", key=TEXT, value=INT64)
    with pytest.raises(TopologyError, match="buffer store"):
        suppress(until_time_limit(milliseconds(1)), store=wrong)
