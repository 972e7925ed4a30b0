"""Aggregation by columns gives what it gives by records."""

from __future__ import annotations

import math
from datetime import timedelta
from itertools import chain, cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import (
    DOUBLE,
    INT64,
    TEXT,
    Processor,
    ProcessorContext,
    Record,
    Topic,
    TopologyBuilder,
)
from kstreams.aggregators import (
    combine,
    count,
    field,
    first,
    last,
    max_,
    mean,
    min_,
    over,
    sum_,
    variance,
)
from kstreams.durations import milliseconds
from kstreams.emit import (
    each_update,
    every,
    on_close,
    once_per_batch,
    suppress,
    until_window_closes,
)
from kstreams.errors import EventTimeError, SerializationError
from kstreams.processors import PunctuationType
from kstreams.processors.columns import ColumnProcessor, ColumnSource
from kstreams.serde import BOOL, BYTES, INT32
from kstreams.serde.composite import TupleSerde
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.stores import session_store, sliding_store, window_store
from kstreams.testing.driver import TopologyTestDriver
from kstreams.topology import to_function
from kstreams.windows import (
    CalendarWindows,
    HoppingWindows,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    UnlimitedWindows,
    split_late,
    windowed,
    windowed_aggregate,
)
from kstreams_json import json_serde
from tests.kstreams.windows.running import SOURCE, Row, run, store_for

DAY = 86_400_000
ALL_OF_THEM = combine(count(), sum_(INT64), last(INT64), variance())
AGGREGATORS: dict[str, tuple[Any, Any]] = {
    "count": (count(), INT64),
    "sum": (sum_(INT64), INT64),
    "sum-double": (sum_(DOUBLE), DOUBLE),
    "min": (min_(INT64), INT64),
    "max": (max_(DOUBLE), DOUBLE),
    "mean": (mean(), DOUBLE),
    "variance": (variance(), DOUBLE),
    "sample-variance": (variance(sample=True), DOUBLE),
    "first": (first(INT64), INT64),
    "last": (last(INT64), INT64),
    "together": (ALL_OF_THEM, TupleSerde(INT64, INT64, INT64, DOUBLE)),
}
EMISSIONS = (each_update(), once_per_batch(), on_close())

spans = st.integers(1, 12)
graces = st.integers(0, 12).map(milliseconds)
keys = st.sampled_from(["a", "a", "b", "", "ä"])
values = st.integers(-99, 99)
scattered = st.lists(st.tuples(keys, values, st.integers(-1, 60)), max_size=24)


@st.composite
def walks(draw: st.DrawFn) -> list[Row]:
    """Draw records that mostly go on in time, by little."""
    rows = []
    time = 0
    for key, value, step in draw(
        st.lists(
            st.tuples(keys, values, st.sampled_from([0, 0, 1, 1, 2, 3, 5, 9, -1, -4, -9])),
            max_size=24,
        )
    ):
        time = max(0, time + step)
        rows.append((key, value, time))
    return rows


rows_of = scattered | walks() | walks()


@st.composite
def kinds(draw: st.DrawFn) -> Any:
    size, grace = draw(spans), draw(graces)
    match draw(
        st.sampled_from(["tumbling", "hopping", "session", "sliding", "calendar", "unlimited"])
    ):
        case "tumbling":
            return TumblingWindows(milliseconds(size), grace=grace)
        case "hopping":
            advance = milliseconds(draw(st.integers(1, size)))
            return HoppingWindows(milliseconds(size), advance, grace=grace)
        case "session":
            return SessionWindows(milliseconds(size), grace=grace)
        case "sliding":
            return SlidingWindows(milliseconds(size), grace=grace)
        case "calendar":
            return CalendarWindows("day", tz="Europe/Berlin", grace=grace)
        case _:
            return UnlimitedWindows()


def scaled(windows: Any, rows: list[Row]) -> list[Row]:
    """Spread times over several windows of days."""
    factor = DAY // 10 if isinstance(windows, CalendarWindows) else 1
    return [(key, value, time * factor if time > 0 else time) for key, value, time in rows]


def cuts_of(data: st.DataObject, count: int) -> list[int]:
    if count < 2:
        return []
    return sorted(data.draw(st.sets(st.integers(1, count - 1), max_size=4)))


def close_to(one: Any, other: Any) -> bool:
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(close_to, one, other))
    if isinstance(one, float):
        same = math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
        return same or (math.isnan(one) and math.isnan(other))
    return bool(one == other)


def same(one: list[Any], other: list[Any]) -> bool:
    return [(w, t) for w, _, t in one] == [(w, t) for w, _, t in other] and all(
        close_to(a, b) for (_, a, _), (_, b, _) in zip(one, other, strict=True)
    )


@settings(max_examples=150)
@given(
    kinds(),
    st.sampled_from(sorted(AGGREGATORS)),
    st.sampled_from(EMISSIONS),
    rows_of,
    st.data(),
)
def test_columns_give_what_records_give(
    windows: Any, how: str, emit: Any, rows: list[Row], data: st.DataObject
) -> None:
    aggregator, result = AGGREGATORS[how]
    rows = scaled(windows, rows)
    cuts = cuts_of(data, len(rows))
    by_records = run(windows, emit, rows, cuts, aggregator, "records", result)
    whole = run(windows, emit, rows, cuts, aggregator, "columns", result)
    for one, other in zip(by_records[0], whole[0], strict=True):
        assert same(one, other), f"{one}\n{other}"
    assert by_records[1] == whole[1]
    assert by_records[2] >= whole[2]


def test_deleted_sessions_of_several_aggregators() -> None:
    aggregator, result = AGGREGATORS["together"]
    windows = SessionWindows(milliseconds(1))
    rows = [("a", 0, 0), ("a", 0, 1), ("a", 0, 2)]
    by_records = run(windows, each_update(), rows, [2], aggregator, "records", result)
    assert run(windows, each_update(), rows, [2], aggregator, "columns", result) == by_records


@settings(max_examples=40)
@given(kinds(), rows_of, st.data())
def test_finals_do_not_depend_on_the_cut(
    windows: Any, rows: list[Row], data: st.DataObject
) -> None:
    rows = [*scaled(windows, rows), ("end", 0, 10**12)]
    cuts = cuts_of(data, len(rows))
    uncut = run(windows, on_close(), rows, (), sum_(INT64), "columns")
    cut = run(windows, on_close(), rows, cuts, sum_(INT64), "columns")
    assert list(chain.from_iterable(cut[0])) == uncut[0][0]
    assert cut[1] == uncut[1]


@settings(max_examples=40)
@given(kinds().filter(lambda kind: hasattr(kind, "starts")), rows_of)
def test_each_pair_is_aggregated_or_dropped(windows: Any, rows: list[Row]) -> None:
    rows = scaled(windows, rows)
    assigned = sum(len(windows.starts(time)) for _, _, time in rows)
    batches, dropped, _ = run(windows, once_per_batch(), rows, (), count(), "columns")
    assert assigned == sum(value for _, value, _ in batches[0]) + dropped.get("late", 0)


@pytest.mark.parametrize("execution", ["records", "columns"])
@pytest.mark.parametrize(
    "windows", [TumblingWindows(milliseconds(9)), SessionWindows(milliseconds(9))]
)
def test_a_batch_forwards_the_last_of_each_key_and_window(windows: Any, execution: Any) -> None:
    rows = [("b", 1, 1), ("a", 2, 2), ("b", 3, 3), ("a", 4, 21)]
    batches, _, _ = run(windows, once_per_batch(), rows, [3], sum_(INT64), execution)
    found = [[(w.key, w.start_ms, value, time) for w, value, time in batch] for batch in batches]
    last = 18 if isinstance(windows, TumblingWindows) else 21
    by_start = sorted([("b", 1, 4, 3), ("a", 2, 2, 2)], key=lambda item: item[1])
    tumbling = [("a", 0, 2, 2), ("b", 0, 4, 3)]
    expected = tumbling if isinstance(windows, TumblingWindows) else by_start
    assert found == [expected, [("a", last, 4, 21)]]


class ByTurns:
    """A supplier whose node runs in the one execution and in the other, batch by batch."""

    execution = "auto"

    def __init__(self, supplier: Any, executions: tuple[str, ...]) -> None:
        self._supplier = supplier
        self._executions = cycle(executions)
        self.stores = supplier.stores

    def __call__(self) -> Any:
        return self._supplier()

    def column_processor(self, source: ColumnSource) -> Any:
        if next(self._executions) == "records":
            return "it is the turn of records"
        found = self._supplier.column_processor(source)
        assert isinstance(found, ColumnProcessor)
        return found


def by_turns(windows: Any, emit: Any, batches: list[list[Row]], executions: tuple[str, ...]) -> Any:
    store = store_for(windows, INT64)
    supplier: Any = windowed_aggregate(windows, sum_(INT64), store=store, emit=emit)
    sink: Any = Topic("out", windowed(TEXT, windows), INT64, nulls="pass")
    builder = TopologyBuilder("turns")
    records: Any = builder.add_source("in", SOURCE)
    node: Any = builder.add_processor("w", ByTurns(supplier, executions), records)
    builder.add_sink("out", sink, node)
    found = []
    with TopologyTestDriver(builder.build(), recreate_processors=True) as driver:
        for batch in batches:
            driver.pipe_batch(SOURCE, [Record(k, v, t) for k, v, t in batch])
            found.append(driver.read(sink))
        return found, driver.dropped


@settings(max_examples=80)
@given(kinds(), st.sampled_from(EMISSIONS), rows_of, st.data())
def test_either_execution_goes_on_from_what_the_other_stored(
    windows: Any, emit: Any, rows: list[Row], data: st.DataObject
) -> None:
    rows = [*scaled(windows, rows), ("end", 0, 10**12)]
    cuts = cuts_of(data, len(rows))
    batches = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    by_records = by_turns(windows, emit, batches, ("records",))
    assert by_turns(windows, emit, batches, ("records", "columns")) == by_records
    assert by_turns(windows, emit, batches, ("columns", "records")) == by_records


@pytest.mark.parametrize("emit", EMISSIONS)
@pytest.mark.parametrize(
    "windows",
    [
        TumblingWindows(milliseconds(9)),
        SessionWindows(milliseconds(9)),
        SlidingWindows(milliseconds(9)),
    ],
)
@pytest.mark.parametrize("execution", ["records", "columns"])
def test_a_sum_beyond_int64_is_the_same_error(windows: Any, emit: Any, execution: Any) -> None:
    rows = [("k", (1 << 63) - 1, 1), ("k", 1, 1)]
    for cuts in ([], [1]):
        with pytest.raises(SerializationError, match="int64"):
            run(windows, emit, rows, cuts, sum_(INT64), execution)


@pytest.mark.parametrize("execution", ["records", "columns"])
def test_a_sum_may_leave_int64_on_its_way(execution: Any) -> None:
    rows = [("k", (1 << 63) - 1, 1), ("k", 1, 2), ("k", -1, 3)]
    windows = TumblingWindows(milliseconds(9))
    batches, _, _ = run(windows, once_per_batch(), rows, (), sum_(INT64), execution)
    assert [value for _, value, _ in batches[0]] == [(1 << 63) - 1]


def test_nan_gives_way_to_numbers() -> None:
    nan = float("nan")
    source: Topic[str, float] = Topic("in", TEXT, DOUBLE)
    for execution in ("records", "columns"):
        driver = aggregation(source, min_(DOUBLE), execution)
        with driver[0]:
            records = [Record("k", value, 1) for value in (nan, 2.0, nan, 1.0)]
            driver[0].pipe_batch(source, records)
            assert [r.value for r in driver[0].read(driver[1])] == [1.0]


WINDOWS = TumblingWindows(milliseconds(10))


def aggregation(
    source: Any, aggregator: Any, execution: Any, result: Any = None
) -> tuple[TopologyTestDriver, Any]:
    builder = TopologyBuilder("t")
    sink: Any = Topic("out", windowed(TEXT, WINDOWS), result or aggregator.state)
    store = store_for(WINDOWS, aggregator.state)
    supplier: Any = windowed_aggregate(WINDOWS, aggregator, store=store, execution=execution)
    builder.add_sink(
        "out", sink, builder.add_processor("w", supplier, builder.add_source("in", source))
    )
    return TopologyTestDriver(builder.build()), sink


def late_run(execution: Any, windows: Any, rows: list[Row], cuts: list[int], emit: Any) -> Any:
    builder = TopologyBuilder("late")
    good: list[Any] = []
    refused: list[Any] = []
    records: Any = builder.add_source("in", SOURCE)
    store = store_for(windows, INT64)
    supplier: Any = windowed_aggregate(
        windows, count(), store=store, execution=execution, emit=emit
    )
    results, late = split_late(builder, "counts", supplier, records)
    builder.add_sink("good", to_function(good.append), results)
    builder.add_sink("refused", to_function(refused.append), late)
    with TopologyTestDriver(builder.build(), recreate_processors=True) as driver:
        for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
            driver.pipe_batch(
                SOURCE, [Record(k, v, t, (("h", b"x"),)) for k, v, t in rows[begin:end]]
            )
        return good, refused, driver.dropped


@settings(max_examples=50)
@given(kinds(), rows_of, st.sampled_from(EMISSIONS), st.data())
def test_late_records_go_the_same_way(
    windows: Any, rows: list[Row], emit: Any, data: st.DataObject
) -> None:
    rows = scaled(windows, rows)
    cuts = cuts_of(data, len(rows))
    assert late_run("records", windows, rows, cuts, emit) == late_run(
        "columns", windows, rows, cuts, emit
    )


class Times(Processor[Any, Any, Any, Any]):
    """Forwards what comes with the present stream time."""

    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(Record(str(record.key), self.context.stream_time, record.timestamp))


class PunctuatedTimes(Times):
    """Forwards each due time of a punctuator too."""

    def init(self, context: ProcessorContext[Any, Any]) -> None:
        super().init(context)
        context.schedule(timedelta(milliseconds=50), PunctuationType.STREAM_TIME, self.punctuate)

    def punctuate(self, now: int) -> None:
        self.context.forward(Record("now", now, now))


def below(
    execution: Any,
    windows: Any,
    emit: Any,
    rows: list[Row],
    cuts: list[int],
    supplier_of_times: Any,
) -> Any:
    builder = TopologyBuilder("below")
    sink: Any = Topic("out", TEXT, INT64)
    store = store_for(windows, INT64)
    supplier: Any = windowed_aggregate(
        windows, count(), store=store, execution=execution, emit=emit
    )
    node: Any = builder.add_processor("w", supplier, builder.add_source("in", SOURCE))
    builder.add_sink("out", sink, builder.add_processor("times", supplier_of_times, node))
    with TopologyTestDriver(builder.build(), recreate_processors=True) as driver:
        found = []
        for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
            driver.pipe_batch(SOURCE, [Record(k, v, t) for k, v, t in rows[begin:end]])
            found.append((driver.read(sink), driver.stream_time("in")))
        return found


@settings(max_examples=50)
@given(kinds(), rows_of, st.sampled_from(EMISSIONS), st.data())
def test_processors_below_see_the_same_times(
    windows: Any, rows: list[Row], emit: Any, data: st.DataObject
) -> None:
    rows = scaled(windows, rows)
    cuts = cuts_of(data, len(rows))
    for execution, times in (("auto", PunctuatedTimes), ("columns", Times)):
        one, other = (below(p, windows, emit, rows, cuts, times) for p in ("records", execution))
        assert one == other


@pytest.mark.parametrize("execution", ["records", "columns"])
@pytest.mark.parametrize(
    ("windows", "emit", "expected"),
    [
        (TumblingWindows(milliseconds(10)), each_update(), [1, 12, 12, 31, 33]),
        (TumblingWindows(milliseconds(10)), once_per_batch(), [33, 33, 33]),
        (TumblingWindows(milliseconds(10)), on_close(), [12, 31]),
        (TumblingWindows(milliseconds(10)), every(milliseconds(10)), [12, 31]),
        (SessionWindows(milliseconds(4)), each_update(), [1, 12, 12, 12, 31, 33, 33]),
        (SessionWindows(milliseconds(4)), once_per_batch(), [33, 33, 33]),
        (SessionWindows(milliseconds(4)), on_close(), [12, 31]),
    ],
)
def test_a_processor_below_sees_the_stream_time_of_the_record(
    windows: Any, emit: Any, expected: list[int], execution: Any
) -> None:
    rows = [("a", 0, 1), ("a", 0, 12), ("a", 0, 11), ("b", 0, 31), ("b", 0, 33)]
    ((found, stream_time),) = below(execution, windows, emit, rows, [], Times)
    assert [record.value for record in found] == expected
    assert stream_time == 33


@pytest.mark.parametrize("execution", ["records", "columns"])
@pytest.mark.parametrize(
    ("windows", "closes"),
    [(TumblingWindows(milliseconds(10)), 10), (SessionWindows(milliseconds(4)), 6)],
)
def test_a_final_is_seen_as_of_the_very_record_that_closed_its_window(
    windows: Any, closes: int, execution: Any
) -> None:
    rows = [("a", 0, 1), ("b", 0, closes - 1), ("b", 0, closes), ("b", 0, closes + 1)]
    ((found, _),) = below(execution, windows, on_close(), rows, [], Times)
    assert [record.value for record in found if "a@" in record.key] == [closes]


@pytest.mark.parametrize("execution", ["records", "columns"])
@pytest.mark.parametrize("cuts", [[], [1], [1, 2]], ids=str)
@pytest.mark.parametrize(
    "windows", [TumblingWindows(milliseconds(9)), SessionWindows(milliseconds(9))]
)
@pytest.mark.parametrize(("aggregator", "expected"), [(last(INT64), 30), (first(INT64), 10)])
def test_of_records_of_one_time_the_last_comes_last(
    windows: Any, execution: Any, cuts: list[int], aggregator: Any, expected: int
) -> None:
    rows = [("k", 10, 5), ("k", 20, 5), ("k", 30, 5)]
    batches, _, _ = run(windows, once_per_batch(), rows, cuts, aggregator, execution, INT64)
    assert [value for _, value, _ in batches[-1] if value is not None] == [expected]


def test_suppression_below_columns() -> None:
    outs = []
    for execution in ("records", "columns"):
        builder = TopologyBuilder("t")
        sink: Any = Topic("out", windowed(TEXT, WINDOWS), INT64)
        updates: Any = windowed_aggregate(
            WINDOWS,
            count(),
            store=store_for(WINDOWS, INT64),
            emit=each_update(),
            execution=execution,
        )
        node: Any = builder.add_processor("w", updates, builder.add_source("in", SOURCE))
        held = buffer_store("held", key=windowed(TEXT, WINDOWS), value=INT64)
        finals: Any = suppress(until_window_closes(WINDOWS), store=held)
        builder.add_sink("out", sink, builder.add_processor("s", finals, node))
        with TopologyTestDriver(builder.build()) as driver:
            driver.pipe_batch(SOURCE, [Record("k", 1, time) for time in range(0, 100, 3)])
            outs.append(driver.read(sink))
    assert outs[0] == outs[1]
    assert len(outs[0]) == 9


def test_json_is_decoded_as_far_as_a_field() -> None:
    value: Any = json_serde(dict)
    source: Any = Topic("in", TEXT, value)
    how = combine(count(), over(field("price", DOUBLE), sum_(DOUBLE)))
    for execution in ("records", "columns"):
        driver, sink = aggregation(source, how, execution)
        with driver:
            for price in (1.5, 2, 4):
                driver.write(source, "k", {"price": price, "other": [1, "x"]}, timestamp=1)
            driver.run()
            assert [r.value for r in driver.read(sink)] == [(3, 7.5)]


@pytest.mark.parametrize("execution", ["records", "columns"])
@pytest.mark.parametrize("aggregator", [count(), sum_(INT64)])
def test_sliding_windows_drop_null_values(aggregator: Any, execution: Any) -> None:
    windows = SlidingWindows(milliseconds(5))
    source: Any = Topic("in", TEXT, INT64, nulls="pass")
    sink: Any = Topic("out", windowed(TEXT, windows), INT64)
    builder = TopologyBuilder("nulls")
    store = store_for(windows, INT64)
    supplier: Any = windowed_aggregate(windows, aggregator, store=store, execution=execution)
    node: Any = builder.add_processor("w", supplier, builder.add_source("in", source))
    builder.add_sink("out", sink, node)
    with TopologyTestDriver(builder.build()) as driver:
        records: list[Any] = [Record("k", 1, 7), Record("k", None, 8), Record("k", 1, 9)]
        driver.pipe_batch(source, records)
        found = [(str(r.key), r.value, r.timestamp) for r in driver.read(sink)]
        assert found == [("k@2/7", 1, 7), ("k@4/9", 2, 9), ("k@8/13", 1, 9)]
        assert driver.dropped == {"null-value": 1}


def test_updates_of_many_windows_are_forwarded_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    windows, rows = SlidingWindows(milliseconds(9)), [("k", 1, time) for time in range(40)]
    rows += [("a", 1, time) for time in (38, 41, 40)]
    by_records = run(windows, each_update(), rows, [30], sum_(INT64), "records")
    monkeypatch.setattr("kstreams.windows.columns.slices._PAIRS_AT_ONCE", 7)
    whole = run(windows, each_update(), rows, [30], sum_(INT64), "columns")
    assert whole[:2] == by_records[:2]


def test_a_time_whose_windows_would_end_beyond_int64_is_no_time() -> None:
    for execution in ("records", "columns"):
        with pytest.raises(EventTimeError, match="year 9999"):
            run(
                SlidingWindows(milliseconds(9)),
                once_per_batch(),
                [("k", 1, (1 << 63) - 3)],
                (),
                sum_(INT64),
                execution,
            )


def test_a_count_never_decodes_its_values() -> None:
    source: Topic[str, int] = Topic("in", TEXT, INT64)
    driver, sink = aggregation(source, count(), "columns")
    with driver:
        driver.write_bytes("in", b"k", b"no int64", timestamp=1)
        driver.write_bytes("in", b"k", b"neither", timestamp=1)
        driver.run()
        assert [r.value for r in driver.read(sink)] == [2]


def test_columns_beside_records_in_one_group() -> None:
    outs = []
    for execution in ("records", "columns"):
        seen: list[Any] = []
        builder = TopologyBuilder("t")
        records: Any = builder.add_source("in", SOURCE)
        supplier: Any = windowed_aggregate(
            WINDOWS,
            count(),
            store=store_for(WINDOWS, INT64),
            execution=execution,
            emit=each_update(),
        )
        sink: Any = Topic("out", windowed(TEXT, WINDOWS), INT64)
        builder.add_sink("out", sink, builder.add_processor("w", supplier, records))
        builder.add_sink("seen", to_function(seen.append), records)
        with TopologyTestDriver(builder.build()) as driver:
            driver.pipe_batch(SOURCE, [Record("k", 1, time) for time in (1, 5, 30, 2, 31)])
            outs.append((driver.read(sink), seen, driver.dropped))
    assert outs[0] == outs[1]
    assert outs[0][2] == {"late": 1}


@pytest.mark.parametrize(
    ("key", "keys"),
    [
        (TEXT, ["b", "", "ä", "a"]),
        (BYTES, [b"b", b"", b"\x00", b"\x00\x01"]),
        (INT64, [5, -5, 0, 1 << 40]),
        (INT32, [5, -5, 0, 1]),
        (BOOL, [True, False]),
    ],
)
@pytest.mark.parametrize(
    "windows",
    [
        TumblingWindows(milliseconds(10)),
        SessionWindows(milliseconds(5)),
        SlidingWindows(milliseconds(5)),
    ],
)
def test_finals_of_what_is_stored_and_what_is_new_have_one_order(
    windows: Any, key: Any, keys: list[Any]
) -> None:
    found = []
    for execution in ("records", "columns"):
        sink: Any = Topic("out", windowed(key, windows), INT64)
        source: Topic[Any, int] = Topic("in", key, INT64)
        makes: dict[type, Any] = {SessionWindows: session_store, SlidingWindows: sliding_store}
        store = makes.get(type(windows), window_store)("state", key=key, value=INT64)
        supplier: Any = windowed_aggregate(
            windows, count(), store=store, emit=on_close(), execution=execution
        )
        builder = TopologyBuilder("finals")
        node: Any = builder.add_processor("w", supplier, builder.add_source("in", source))
        builder.add_sink("out", sink, node)
        with TopologyTestDriver(builder.build()) as driver:
            driver.pipe_batch(source, [Record(each, 1, 1) for each in keys[::2]])
            driver.pipe_batch(
                source,
                [*(Record(each, 1, 2) for each in keys[1::2]), Record(keys[0], 1, 99)],
            )
            found.append([(r.key, r.value, r.timestamp) for r in driver.read(sink)])
    assert found[0] == found[1]
    assert len(found[0]) >= len(keys)
