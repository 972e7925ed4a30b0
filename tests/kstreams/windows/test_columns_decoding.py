"""Column execution: decoded fields, dropped records, and division into parts."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import (
    DOUBLE,
    INT64,
    TEXT,
    Record,
    Topic,
    TopologyBuilder,
)
from kstreams.aggregators import (
    combine,
    count,
    field,
    over,
    sum_,
)
from kstreams.durations import milliseconds
from kstreams.emit import (
    each_update,
    once_per_batch,
)
from kstreams.errors import EventTimeError
from kstreams.topology import to_function
from kstreams.windows import (
    SlidingWindows,
    windowed,
    windowed_aggregate,
)
from kstreams_json import json_serde
from kstreams_testing.driver import TopologyTestDriver
from tests.support.windows.compared_executions import (
    WINDOWS,
    aggregation,
)
from tests.support.windows.windowed_runs import SOURCE, run, store_for


def test_only_aggregated_field_of_json_is_decoded() -> None:
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


def test_time_whose_windows_would_end_beyond_int64_is_rejected() -> None:
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


def test_count_does_not_decode_values() -> None:
    source: Topic[str, int] = Topic("in", TEXT, INT64)
    driver, sink = aggregation(source, count(), "columns")
    with driver:
        driver.write_bytes("in", b"k", b"no int64", timestamp=1)
        driver.write_bytes("in", b"k", b"neither", timestamp=1)
        driver.run()
        assert [r.value for r in driver.read(sink)] == [2]


def test_columns_and_records_in_one_group_process_records_once() -> None:
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
