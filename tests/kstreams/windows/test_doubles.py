"""Sums of doubles have the same bits by records and by columns, with any batch boundaries."""

from __future__ import annotations

import math
import struct
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import DOUBLE, INT64, TEXT, Record, Topic, TopologyBuilder, timestamped_store
from kstreams.aggregators import combine, count, last, mean, sum_, variance
from kstreams.durations import milliseconds
from kstreams.emit import each_update, every, on_close, once_per_batch
from kstreams.processors.aggregate import aggregate
from kstreams.serde.composite import TupleSerde
from kstreams.testing import TopologyTestDriver
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
from tests.support.windows.windowed_runs import store_for

SOURCE: Topic[str, float] = Topic("in", TEXT, DOUBLE)
AGGREGATORS: dict[str, tuple[Any, Any]] = {
    "sum": (sum_(DOUBLE), DOUBLE),
    "mean": (mean(), DOUBLE),
    "variance": (variance(), DOUBLE),
    "sample-variance": (variance(sample=True), DOUBLE),
    "together": (
        combine(sum_(DOUBLE), count(), last(DOUBLE), variance()),
        TupleSerde(DOUBLE, INT64, DOUBLE, DOUBLE),
    ),
}
KINDS: tuple[Any, ...] = (
    TumblingWindows(milliseconds(10), grace=milliseconds(20)),
    HoppingWindows(milliseconds(9), milliseconds(4), grace=milliseconds(3)),
    CalendarWindows("day"),
    UnlimitedWindows(),
    SessionWindows(milliseconds(4), grace=milliseconds(30)),
    SessionWindows(milliseconds(4), grace=milliseconds(3)),
    SlidingWindows(milliseconds(9), grace=milliseconds(30)),
    SlidingWindows(milliseconds(30), grace=milliseconds(3)),
)
EMISSIONS = (each_update(), once_per_batch(), on_close(), every(milliseconds(5)))
Row = tuple[str, float, int]

doubles = st.one_of(
    st.floats(-1000, 1000),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([1e308, -1e308, 1e-308, 5e-324, 1e16, 1.0, 0.1, -0.0, math.inf, math.nan]),
)
finite = st.floats(-1e6, 1e6) | st.sampled_from([1e16, -1e16, 0.1, 1.0])
times = st.integers(0, 40)


@pytest.fixture(autouse=True)
def _warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def bits(value: Any) -> Any:
    """Return a value whose equality is that of bits; all NaNs are equal."""
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack(">d", value)
    return value


def results(
    windows: Any, how: str, emit: Any, rows: list[Row], cuts: list[int], execution: Any
) -> list[list[Any]]:
    aggregator, result = AGGREGATORS[how]
    sink: Any = Topic("out", TEXT if windows is None else windowed(TEXT, windows), result)
    sink = Topic("out", sink.key, result, nulls="pass")
    builder = TopologyBuilder("doubles")
    supplier: Any
    if windows is None:
        plain = timestamped_store("state", key=TEXT, value=aggregator.state)
        supplier = aggregate(aggregator, store=plain, emit=emit, execution=execution)
    else:
        store = store_for(windows, aggregator.state)
        supplier = windowed_aggregate(
            windows, aggregator, store=store, emit=emit, execution=execution
        )
    node: Any = builder.add_processor("w", supplier, builder.add_source("in", SOURCE))
    builder.add_sink("out", sink, node)
    found = []
    with TopologyTestDriver(builder.build(), recreate_processors=True) as driver:
        for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
            driver.pipe_batch(SOURCE, [Record(k, v, t) for k, v, t in rows[begin:end]])
            found.append([(str(r.key), bits(r.value), r.timestamp) for r in driver.read(sink)])
    return found


def last_of_each(batches: list[list[Any]]) -> dict[Any, Any]:
    return {key: value for batch in batches for key, value, _ in batch}


def cuts_of(data: st.DataObject, count: int) -> list[int]:
    if count < 2:
        return []
    return sorted(data.draw(st.sets(st.integers(1, count - 1), max_size=4)))


rows_of = st.lists(st.tuples(st.sampled_from("aab"), doubles | finite, times), max_size=24)


def execution_of(windows: Any, emit: Any) -> str:
    """Return the execution; sessions and sliding windows have no columns for intervals."""
    is_every = type(emit).__name__ == "Every"
    return (
        "auto" if is_every and isinstance(windows, (SessionWindows, SlidingWindows)) else "columns"
    )


@pytest.mark.long
@settings(max_examples=400)
@given(
    st.sampled_from(KINDS),
    st.sampled_from(sorted(AGGREGATORS)),
    st.sampled_from(EMISSIONS),
    rows_of,
    st.data(),
)
def test_double_aggregates_have_same_bits_by_columns_and_by_records(
    windows: Any, how: str, emit: Any, rows: list[Row], data: st.DataObject
) -> None:
    cuts = cuts_of(data, len(rows))
    by_records = results(windows, how, emit, rows, cuts, "records")
    assert results(windows, how, emit, rows, cuts, execution_of(windows, emit)) == by_records


@pytest.mark.long
@settings(max_examples=100)
@given(st.sampled_from(sorted(AGGREGATORS)), st.sampled_from(EMISSIONS[:2]), rows_of, st.data())
def test_double_aggregates_without_windows_have_same_bits_by_columns_and_by_records(
    how: str, emit: Any, rows: list[Row], data: st.DataObject
) -> None:
    cuts = cuts_of(data, len(rows))
    by_records = results(None, how, emit, rows, cuts, "records")
    assert results(None, how, emit, rows, cuts, "columns") == by_records


@pytest.mark.long
@settings(max_examples=200)
@given(
    st.sampled_from(KINDS),
    st.sampled_from(sorted(AGGREGATORS)),
    rows_of,
    st.data(),
    st.sampled_from(["records", "columns"]),
)
def test_double_aggregates_do_not_depend_on_batch_boundaries(
    windows: Any, how: str, rows: list[Row], data: st.DataObject, execution: str
) -> None:
    rows = [*rows, ("end", 0.0, 10**12)]
    cuts = cuts_of(data, len(rows))
    whole = results(windows, how, on_close(), rows, [], execution)
    assert last_of_each(results(windows, how, on_close(), rows, cuts, execution)) == last_of_each(
        whole
    )


@pytest.mark.parametrize("how", sorted(AGGREGATORS))
@pytest.mark.parametrize("emit", EMISSIONS[:3])
@pytest.mark.parametrize("windows", [KINDS[0], KINDS[3], KINDS[4], KINDS[6]])
def test_double_aggregates_of_long_runs_have_same_bits_by_columns_and_by_records(
    windows: Any, emit: Any, how: str
) -> None:
    rows = [("a" if n % 7 else "b", (-1) ** n * 1.1**n + 0.1, 1 + n // 60) for n in range(400)]
    rows.append(("a", 0.3, 10_000))
    by_records = results(windows, how, emit, rows, [170], "records")
    assert results(windows, how, emit, rows, [170], "columns") == by_records


@pytest.mark.parametrize("execution", ["records", "columns"])
@pytest.mark.parametrize(
    ("values", "total", "average"),
    [
        ((1e308, 1e308), math.inf, math.inf),
        ((-1e308, -1e308), -math.inf, -math.inf),
        ((math.inf, -math.inf), math.nan, math.nan),
        ((math.inf, 1.0), math.inf, math.inf),
        ((math.nan, 1.0), math.nan, math.nan),
        ((1e16, 1.0, -1e16), 0.0, 0.0),
        ((-0.0,), 0.0, 0.0),
    ],
)
def test_sum_beyond_range_of_doubles_is_infinite_or_nan(
    execution: Any, values: tuple[float, ...], total: float, average: float
) -> None:
    rows = [("k", value, 1) for value in values]
    for how, expected in (("sum", total), ("mean", average)):
        for cuts in ([], list(range(1, len(rows)))):
            found = results(KINDS[0], how, once_per_batch(), rows, cuts, execution)
            assert found[-1][-1][1] == bits(expected)


def test_states_of_double_aggregates_have_unchanged_format() -> None:
    assert sum_(DOUBLE).state == DOUBLE
    assert mean().state == TupleSerde(INT64, DOUBLE)
    assert variance().state == TupleSerde(INT64, DOUBLE, DOUBLE)
