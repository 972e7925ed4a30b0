"""Windowed aggregation gives the same results by columns and by records."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import (
    DOUBLE,
    INT64,
    TEXT,
    Record,
    Topic,
    TopologyBuilder,
)
from kstreams.aggregators import (
    count,
    min_,
    sum_,
)
from kstreams.durations import milliseconds
from kstreams.emit import (
    each_update,
    on_close,
    once_per_batch,
)
from kstreams.errors import SerializationError
from kstreams.serde import BOOL, BYTES, INT32
from kstreams.stores import session_store, sliding_store, window_store
from kstreams.windows import (
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    windowed,
    windowed_aggregate,
)
from kstreams_testing.driver import TopologyTestDriver
from tests.support.windows.compared_executions import (
    AGGREGATORS,
    EMISSIONS,
    aggregation,
    by_turns,
    cuts_of,
    kinds,
    late_run,
    rows_of,
    same,
    scaled,
)
from tests.support.windows.windowed_runs import Row, run


@pytest.mark.long
@settings(max_examples=150)
@given(
    kinds(),
    st.sampled_from(sorted(AGGREGATORS)),
    st.sampled_from(EMISSIONS),
    rows_of,
    st.data(),
)
def test_windowed_aggregation_gives_same_results_by_columns_and_records(
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


def test_deleted_sessions_of_combined_aggregators_are_equal_by_columns_and_by_records() -> None:
    aggregator, result = AGGREGATORS["together"]
    windows = SessionWindows(milliseconds(1))
    rows = [("a", 0, 0), ("a", 0, 1), ("a", 0, 2)]
    by_records = run(windows, each_update(), rows, [2], aggregator, "records", result)
    assert run(windows, each_update(), rows, [2], aggregator, "columns", result) == by_records


@settings(max_examples=40)
@given(kinds(), rows_of, st.data())
def test_final_results_do_not_depend_on_batch_boundaries(
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
def test_each_pair_of_record_and_window_is_aggregated_or_dropped(
    windows: Any, rows: list[Row]
) -> None:
    rows = scaled(windows, rows)
    assigned = sum(len(windows.starts(time)) for _, _, time in rows)
    batches, dropped, _ = run(windows, once_per_batch(), rows, (), count(), "columns")
    assert assigned == sum(value for _, value, _ in batches[0]) + dropped.get("late", 0)


@pytest.mark.parametrize("execution", ["records", "columns"])
@pytest.mark.parametrize(
    "windows", [TumblingWindows(milliseconds(9)), SessionWindows(milliseconds(9))]
)
def test_batch_forwards_last_result_of_each_key_and_window(windows: Any, execution: Any) -> None:
    rows = [("b", 1, 1), ("a", 2, 2), ("b", 3, 3), ("a", 4, 21)]
    batches, _, _ = run(windows, once_per_batch(), rows, [3], sum_(INT64), execution)
    found = [[(w.key, w.start_ms, value, time) for w, value, time in batch] for batch in batches]
    last = 18 if isinstance(windows, TumblingWindows) else 21
    by_start = sorted([("b", 1, 4, 3), ("a", 2, 2, 2)], key=lambda item: item[1])
    tumbling = [("a", 0, 2, 2), ("b", 0, 4, 3)]
    expected = tumbling if isinstance(windows, TumblingWindows) else by_start
    assert found == [expected, [("a", last, 4, 21)]]


@pytest.mark.long
@settings(max_examples=80)
@given(kinds(), st.sampled_from(EMISSIONS), rows_of, st.data())
def test_each_execution_continues_from_state_of_the_other(
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
def test_sum_beyond_int64_raises_same_error_by_columns_and_by_records(
    windows: Any, emit: Any, execution: Any
) -> None:
    rows = [("k", (1 << 63) - 1, 1), ("k", 1, 1)]
    for cuts in ([], [1]):
        with pytest.raises(SerializationError, match="int64"):
            run(windows, emit, rows, cuts, sum_(INT64), execution)


@pytest.mark.parametrize("execution", ["records", "columns"])
def test_intermediate_sum_of_column_aggregation_may_exceed_int64(execution: Any) -> None:
    rows = [("k", (1 << 63) - 1, 1), ("k", 1, 2), ("k", -1, 3)]
    windows = TumblingWindows(milliseconds(9))
    batches, _, _ = run(windows, once_per_batch(), rows, (), sum_(INT64), execution)
    assert [value for _, value, _ in batches[0]] == [(1 << 63) - 1]


def test_windowed_minimum_replaces_nan_by_numbers() -> None:
    nan = float("nan")
    source: Topic[str, float] = Topic("in", TEXT, DOUBLE)
    for execution in ("records", "columns"):
        driver = aggregation(source, min_(DOUBLE), execution)
        with driver[0]:
            records = [Record("k", value, 1) for value in (nan, 2.0, nan, 1.0)]
            driver[0].pipe_batch(source, records)
            assert [r.value for r in driver[0].read(driver[1])] == [1.0]


@settings(max_examples=50)
@given(kinds(), rows_of, st.sampled_from(EMISSIONS), st.data())
def test_late_records_are_forwarded_equally_by_columns_and_by_records(
    windows: Any, rows: list[Row], emit: Any, data: st.DataObject
) -> None:
    rows = scaled(windows, rows)
    cuts = cuts_of(data, len(rows))
    assert late_run("records", windows, rows, cuts, emit) == late_run(
        "columns", windows, rows, cuts, emit
    )


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
def test_final_results_of_stored_and_new_windows_have_same_order_by_columns_and_records(
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
