"""Processors after an aggregation see the same records and times by records and by columns."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import (
    INT64,
    TEXT,
    Processor,
    ProcessorContext,
    Record,
    Topic,
    TopologyBuilder,
)
from kstreams.aggregators import (
    count,
    first,
    last,
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
from kstreams.processors import PunctuationType
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.windows import (
    SessionWindows,
    TumblingWindows,
    windowed,
    windowed_aggregate,
)
from kstreams_testing.driver import TopologyTestDriver
from tests.support.windows.compared_executions import (
    EMISSIONS,
    WINDOWS,
    cuts_of,
    kinds,
    rows_of,
    scaled,
)
from tests.support.windows.windowed_runs import SOURCE, Row, run, store_for


class Times(Processor[Any, Any, Any, Any]):
    """Forwards each record with the present stream time."""

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


@pytest.mark.long
@settings(max_examples=50)
@given(kinds(), rows_of, st.sampled_from(EMISSIONS), st.data())
def test_processors_after_columns_see_same_times_as_by_records(
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
def test_processor_after_columns_sees_stream_time_of_record(
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
def test_final_result_has_stream_time_of_record_that_closed_its_window(
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
def test_records_of_equal_time_keep_their_order(
    windows: Any, execution: Any, cuts: list[int], aggregator: Any, expected: int
) -> None:
    rows = [("k", 10, 5), ("k", 20, 5), ("k", 30, 5)]
    batches, _, _ = run(windows, once_per_batch(), rows, cuts, aggregator, execution, INT64)
    assert [value for _, value, _ in batches[-1] if value is not None] == [expected]


def test_suppress_after_columns_releases_same_results() -> None:
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
