"""At the limits of time, records and columns agree, and no record stops the app."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import INT64, TEXT, DeadLetter, FixedKeyProcessor, Record, Topic, TopologyBuilder
from kstreams.aggregators import count, sum_
from kstreams.durations import milliseconds
from kstreams.emit import each_update, every, on_close, once_per_batch, suppress, until_time_limit
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.testing import TopologyTestDriver
from kstreams.times import EARLIEST_MS, LATEST_MS, LONGEST_SPAN
from kstreams.windows import (
    CalendarWindows,
    HoppingWindows,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    UnlimitedWindows,
    windowed,
    windowed_aggregate,
)
from tests.support.windows.windowed_runs import SOURCE, Row, run, store_for

DAY = 86_400_000
INT64_MAX, INT64_MIN = (1 << 63) - 1, -(1 << 63)
KINDS: tuple[Any, ...] = (
    TumblingWindows(milliseconds(10), grace=milliseconds(3)),
    TumblingWindows(LONGEST_SPAN, grace=LONGEST_SPAN),
    HoppingWindows(milliseconds(10), milliseconds(4)),
    HoppingWindows(LONGEST_SPAN, LONGEST_SPAN / 3, grace=LONGEST_SPAN),
    SlidingWindows(milliseconds(10)),
    SlidingWindows(LONGEST_SPAN, grace=LONGEST_SPAN),
    SessionWindows(milliseconds(10), grace=milliseconds(3)),
    SessionWindows(LONGEST_SPAN, grace=LONGEST_SPAN),
    CalendarWindows("day", tz="Pacific/Kiritimati"),
    CalendarWindows("year", 3, tz="Pacific/Niue", grace=timedelta(days=1)),
    CalendarWindows("week", grace=LONGEST_SPAN),
    UnlimitedWindows(),
)
EMISSIONS = (each_update(), once_per_batch(), on_close())

near = st.integers(-25, 25)
edges = st.sampled_from(
    [0, EARLIEST_MS, EARLIEST_MS + 400 * DAY, LATEST_MS, LATEST_MS - 1100 * DAY, DAY]
)
times = st.builds(lambda edge, by: edge + by, edges, near)
beyond = st.sampled_from([INT64_MAX, INT64_MAX - 10, INT64_MIN, 1 << 62, LATEST_MS + 1])
rows_of = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9), times), max_size=12)


def within(rows: list[Row]) -> list[Row]:
    return [(k, v, min(max(t, EARLIEST_MS), LATEST_MS)) for k, v, t in rows]


@pytest.mark.long
@settings(max_examples=200)
@given(st.sampled_from(KINDS), st.sampled_from(EMISSIONS), rows_of, st.data())
def test_windows_at_limits_of_time_give_same_results_by_columns_and_records(
    windows: Any, emit: Any, rows: list[Row], data: st.DataObject
) -> None:
    rows = within(rows)
    cut = [data.draw(st.integers(1, len(rows) - 1))] if len(rows) > 1 else []
    by_records = run(windows, emit, rows, cut, sum_(INT64), "records", INT64)
    assert run(windows, emit, rows, cut, sum_(INT64), "columns", INT64)[:2] == by_records[:2]


@pytest.mark.long
@settings(max_examples=150)
@given(
    st.sampled_from(KINDS),
    st.sampled_from([*EMISSIONS, every(milliseconds(7))]),
    st.sampled_from(["skip", DeadLetter("letters")]),
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9), times | beyond), max_size=12),
)
def test_record_of_any_time_does_not_stop_app_with_policy_skip(
    windows: Any, emit: Any, policy: Any, rows: list[Row]
) -> None:
    builder = TopologyBuilder("edges", on_error=policy)
    store = store_for(windows, INT64)
    supplier: Any = windowed_aggregate(windows, count(), store=store, emit=emit)
    source = builder.add_source("in", SOURCE)
    node: Any = builder.add_processor("w", supplier, source)
    builder.add_sink("out", Topic("out", windowed(TEXT, windows), INT64, nulls="pass"), node)
    builder.add_sink("seen", Topic("seen", TEXT, INT64), source)
    wrong = sum(not EARLIEST_MS <= time <= LATEST_MS for _, _, time in rows)
    with TopologyTestDriver(builder.build(), recreate_processors=True) as driver:
        for key, value, time in rows:
            driver.pipe(SOURCE, key, value, timestamp=time)
        driver.close_windows()
        kind = "skipped" if policy == "skip" else "dead-letter"
        assert driver.dropped.get(f"{kind}-EventTimeError", 0) == wrong
        assert len(driver.read_rows("seen")) == len(rows) - wrong
        assert len(driver.read_rows("letters")) == (wrong if policy != "skip" else 0)
        assert driver.stream_time("in") <= LATEST_MS


@pytest.mark.parametrize("execution", ["records", "columns"])
@pytest.mark.parametrize("windows", KINDS, ids=lambda kind: type(kind).__name__)
def test_windowed_aggregation_continues_after_records_of_invalid_time(
    windows: Any, execution: Any
) -> None:
    builder = TopologyBuilder("edges")
    store = store_for(windows, INT64)
    supplier: Any = windowed_aggregate(windows, count(), store=store, execution=execution)
    source = builder.add_source("in", SOURCE, invalid_time="skip")
    sink: Any = Topic("out", windowed(TEXT, windows), INT64, nulls="pass")
    builder.add_sink("out", sink, builder.add_processor("w", supplier, source))
    with TopologyTestDriver(builder.build()) as driver:
        for time in (5, INT64_MAX, INT64_MIN, 6):
            driver.pipe(SOURCE, "a", 1, timestamp=time)
        assert driver.dropped == {"too-far-ahead": 1, "no-event-time": 1}
        assert max(record.value for record in driver.read(sink) if record.value) == 2


class At(FixedKeyProcessor[str, int, int]):
    """Uses the value as timestamp."""

    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record.with_timestamp(record.value))


@pytest.mark.parametrize("repartitioned", [False, True], ids=["forwarded", "repartitioned"])
@pytest.mark.parametrize("windows", KINDS[::2], ids=lambda kind: type(kind).__name__)
@pytest.mark.parametrize("wrong", [INT64_MAX, INT64_MIN, LATEST_MS + 1])
def test_invalid_time_made_by_processor_is_rejected_before_state_changes(
    windows: Any, repartitioned: bool, wrong: int
) -> None:
    builder = TopologyBuilder("edges", on_error="skip")
    node: Any = builder.add_processor("at", At, builder.add_source("in", SOURCE))
    if repartitioned:
        node = builder.repartition("edge", node, key=TEXT, value=INT64)
    supplier: Any = windowed_aggregate(windows, count(), store=store_for(windows, INT64))
    sink: Any = Topic("out", windowed(TEXT, windows), INT64, nulls="pass")
    builder.add_sink("out", sink, builder.add_processor("w", supplier, node))
    with TopologyTestDriver(builder.build(), recreate_processors=True) as driver:
        for time in (5, wrong, 6):
            driver.pipe(SOURCE, "a", time, timestamp=0)
        assert driver.dropped == {"skipped-EventTimeError": 1}
        assert max(record.value for record in driver.read(sink) if record.value) == 2


def test_suppress_until_time_limit_rejects_invalid_times() -> None:
    builder = TopologyBuilder("edges", on_error="skip")
    node: Any = builder.add_processor("at", At, builder.add_source("in", SOURCE))
    store: Any = buffer_store("held", key=TEXT, value=INT64)
    held: Any = builder.add_processor(
        "held", suppress(until_time_limit(LONGEST_SPAN), store=store), node
    )
    builder.add_sink("out", Topic("out", TEXT, INT64), held)
    with TopologyTestDriver(builder.build(), recreate_processors=True) as driver:
        driver.pipe(SOURCE, "a", INT64_MAX, timestamp=0)
        driver.pipe(SOURCE, "a", LATEST_MS, timestamp=0)
        assert driver.dropped == {"skipped-EventTimeError": 1}


@pytest.mark.parametrize(
    "make",
    [
        lambda span: TumblingWindows(span),
        lambda span: TumblingWindows(milliseconds(1), grace=span),
        lambda span: HoppingWindows(span, span),
        lambda span: SlidingWindows(span),
        lambda span: SessionWindows(span),
        lambda span: CalendarWindows("day", grace=span),
        lambda span: every(span),
        lambda span: until_time_limit(span),
    ],
)
def test_window_span_longer_than_range_of_times_is_rejected(make: Any) -> None:
    make(LONGEST_SPAN)
    for span in (LONGEST_SPAN + milliseconds(1), timedelta.max - timedelta(microseconds=999_999)):
        with pytest.raises(ValueError, match="3652500 days or less"):
            make(span)
