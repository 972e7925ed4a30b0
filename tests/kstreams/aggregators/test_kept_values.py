"""Aggregators that keep values have a bound, so that a hot key cannot grow a row without limit."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder
from kstreams.aggregators import collect, count_distinct
from kstreams.aggregators.kept_values import MAX_VALUES
from kstreams.durations import milliseconds
from kstreams.emit import each_update
from kstreams.errors import ProcessingError
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.window.kind import window_store
from kstreams.testing import TopologyTestDriver
from kstreams.windows import SessionWindows, TumblingWindows, windowed_aggregate

IN = Topic("in", TEXT, INT64)
MAKERS: tuple[Any, ...] = (collect, count_distinct)


def driver_of(windows: Any, aggregator: Any, on_error: Any) -> tuple[TopologyTestDriver, Any]:
    made: Any = session_store if isinstance(windows, SessionWindows) else window_store
    store = made("state", key=TEXT, value=aggregator.state)
    builder = TopologyBuilder("t", on_error=on_error)
    supplier: Any = windowed_aggregate(windows, aggregator, store=store, emit=each_update())
    builder.add_processor("gather", supplier, builder.add_source("in", IN))
    return TopologyTestDriver(builder.build()), store


@pytest.mark.parametrize("make", MAKERS)
def test_record_of_key_with_max_values_fails_and_other_keys_are_aggregated(make: Any) -> None:
    driver, store = driver_of(TumblingWindows(milliseconds(99)), make(INT64, max_values=2), "skip")
    with driver:
        driver.pipe_batch(IN, [Record(key, n, n) for n in range(4) for key in "ab"])
        driver.pipe(IN, "c", 1, timestamp=5)
        assert driver.dropped == {"skipped-ProcessingError": 4}
        kept = {window.key: len(state) for window, state in driver.store(store).fetch_all()}
        assert kept == {"a": 2, "b": 2, "c": 1}


@pytest.mark.parametrize("make", MAKERS)
def test_merged_sessions_with_more_than_max_values_raise_processing_error(make: Any) -> None:
    windows = SessionWindows(milliseconds(2), grace=milliseconds(9))
    driver, _ = driver_of(windows, make(INT64, max_values=2), "fail")
    with driver:
        driver.pipe(IN, "a", 1, timestamp=1)
        driver.pipe(IN, "a", 2, timestamp=5)
        with pytest.raises(ProcessingError, match="would keep 3 values, more than 2") as failed:
            driver.pipe(IN, "a", 3, timestamp=3)
        assert failed.value.where.node == "gather"
        assert "max_values" in failed.value.hint


def test_repeated_value_of_count_distinct_does_not_count_towards_max_values() -> None:
    aggregator: Any = count_distinct(INT64, max_values=1)
    state = aggregator.init(Record("a", 7, 0))
    assert aggregator.result(aggregator.add(state, Record("a", 7, 0))) == 1
    with pytest.raises(ProcessingError, match="more than 1") as failed:
        aggregator.add(state, Record("a", 8, 0))
    assert "approx_count_distinct" in failed.value.hint


@pytest.mark.parametrize("make", MAKERS)
def test_aggregator_without_max_values_has_default_limit_of_values(make: Any) -> None:
    aggregator: Any = make(INT64)
    state: Any = type(aggregator.init(Record("a", 0, 0)))(range(MAX_VALUES))
    with pytest.raises(ProcessingError, match="50,001 values, more than 50,000"):
        aggregator.add(state, Record("a", -1, 0))
    more: Any = make(INT64, max_values=MAX_VALUES + 1)
    assert len(more.add(state, Record("a", -1, 0))) == MAX_VALUES + 1
    with pytest.raises(ValueError, match="max_values is 0"):
        make(INT64, max_values=0)
