"""`forever` as a grace, limit, ttl and retention."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder
from kstreams.aggregators import count
from kstreams.durations import days, forever, milliseconds, minutes
from kstreams.emit import each_update, on_close, suppress, until_time_limit, until_window_closes
from kstreams.errors import CompileError
from kstreams.graph.window_emissions import check_run_closes_windows
from kstreams.joins import within
from kstreams.operators import deduplicate
from kstreams.processors.deduplicate import by_key
from kstreams.stores import (
    buffer_store,
    key_value_store,
    timestamped_store,
    versioned_key_value_store,
)
from kstreams.testing import TopologyTestDriver
from kstreams.times import LATEST_MS
from kstreams.windows import (
    CalendarWindows,
    HoppingWindows,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    UnlimitedWindows,
    windowed_aggregate,
)
from tests.support.windows.windowed_runs import SOURCE, driver_of, store_for

LATE = LATEST_MS - 400 * 86_400_000
"""A time supported by all calendars, in ms."""

KINDS: dict[str, Any] = {
    "tumbling": TumblingWindows(minutes(1), grace=forever),
    "hopping": HoppingWindows(minutes(1), minutes(1), grace=forever),
    "session": SessionWindows(minutes(1), grace=forever),
    "sliding": SlidingWindows(minutes(1), grace=forever),
    "calendar": CalendarWindows("day", grace=forever),
}


@pytest.mark.parametrize("execution", ["records", "columns"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_record_is_late_with_grace_forever(kind: str, execution: Any) -> None:
    driver, sink = driver_of(KINDS[kind], each_update(), count(), execution, INT64)
    with driver:
        rows = [("a", 1, 0), ("b", 1, LATE), ("a", 1, 1)]
        driver.pipe_batch(SOURCE, [Record(*row) for row in rows])
        assert driver.dropped == {}
        counts = [(r.key.key, r.value) for r in driver.read(sink) if r.value is not None]
        assert ("a", 2) in counts


@pytest.mark.parametrize("kind", KINDS)
def test_on_close_with_grace_forever_emits_at_end_of_run(kind: str) -> None:
    driver, sink = driver_of(KINDS[kind], on_close(), count(), "auto", INT64)
    with driver:
        driver.pipe_batch(SOURCE, [Record("a", 1, 0), Record("b", 1, LATE)])
        assert driver.read(sink) == []
        driver.close_windows()
        assert {record.key.key for record in driver.read(sink)} == {"a", "b"}


@pytest.mark.parametrize(
    ("until", "waits"),
    [
        (until_window_closes(TumblingWindows(minutes(1), grace=forever)), True),
        (until_window_closes(UnlimitedWindows()), True),
        (until_window_closes(TumblingWindows(minutes(1))), False),
        (until_time_limit(forever), True),
        (until_time_limit(forever, max_records=3, full="fail"), True),
        (until_time_limit(forever, max_records=3), False),
        (until_time_limit(days(1)), False),
    ],
)
def test_run_without_close_windows_rejects_records_that_are_never_released(
    until: Any, waits: bool
) -> None:
    builder = TopologyBuilder("t")
    held: Any = suppress(until, store=buffer_store("held", key=TEXT, value=INT64))
    builder.add_processor("held", held, builder.add_source("in", SOURCE))
    topology = builder.build()
    if waits:
        with pytest.raises(CompileError, match=r"node 'held' forwards no .*\nHint: close them."):
            check_run_closes_windows(topology, "close them.")
    else:
        check_run_closes_windows(topology, "close them.")


@pytest.mark.parametrize("kind", KINDS)
def test_run_without_close_windows_rejects_on_close_with_grace_forever(kind: str) -> None:
    builder = TopologyBuilder("t")
    windows = KINDS[kind]
    for name, emit in (("updates", each_update()), ("finals", on_close())):
        store: Any = store_for(windows, INT64)
        supplier: Any = windowed_aggregate(
            windows, count(), store=type(store)(name, store.kind, TEXT, INT64), emit=emit
        )
        builder.add_processor(
            name, supplier, builder.add_source(f"in-{name}", Topic(name, TEXT, INT64))
        )
    with pytest.raises(CompileError, match="node 'finals' forwards no results"):
        check_run_closes_windows(builder.build(), "close them.")


def test_store_with_ttl_forever_equals_store_without_ttl() -> None:
    plain = key_value_store("s", key=TEXT, value=INT64)
    assert key_value_store("s", key=TEXT, value=INT64, ttl=forever) == plain
    assert key_value_store("s", key=TEXT, value=INT64, ttl=days(1)) != plain


def test_table_with_ttl_forever_keeps_its_rows() -> None:
    builder = TopologyBuilder("t")
    spec = timestamped_store("rows", key=TEXT, value=INT64)
    builder.add_table("table", SOURCE, store=spec, ttl=forever)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(SOURCE, "a", 1, timestamp=0)
        driver.pipe(SOURCE, "b", 1, timestamp=LATE)
        assert driver.store(spec).get("a") is not None


def test_versioned_store_with_retention_forever_keeps_all_versions() -> None:
    builder = TopologyBuilder("t")
    spec = versioned_key_value_store("rows", key=TEXT, value=INT64, retention=forever)
    builder.add_table("table", SOURCE, store=spec)
    with TopologyTestDriver(builder.build()) as driver:
        for value, time in ((1, 0), (2, LATE), (3, 5)):
            driver.pipe(SOURCE, "a", value, timestamp=time)
        store: Any = driver.store(spec)
        assert [store.get("a", time).value for time in (1, 6, LATE)] == [1, 3, 2]


def test_deduplicate_within_forever_keeps_all_ids() -> None:
    builder = TopologyBuilder("t")
    unique = deduplicate(by_key(), id=TEXT, within=forever, store="ids")
    node: Any = builder.add_processor("unique", unique, builder.add_source("in", SOURCE))
    sink = Topic("out", TEXT, INT64)
    builder.add_sink("out", sink, node)
    with TopologyTestDriver(builder.build()) as driver:
        for key, time in (("a", 0), ("b", LATE), ("a", 1)):
            driver.pipe(SOURCE, key, 1, timestamp=time)
        assert [record.key for record in driver.read(sink)] == ["a", "b"]


def test_stream_join_within_forever_pairs_all_records_of_key() -> None:
    span = within(forever, grace=forever)
    assert span.before == span.after == span.grace == forever
    assert timedelta(0) < forever < timedelta.max
    assert datetime.max.replace(tzinfo=timezone.utc) - datetime.min.replace(
        tzinfo=timezone.utc
    ) < forever + milliseconds(0)
