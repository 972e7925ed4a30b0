"""Emission of window results by `every(interval)` and `at_most_every(interval)`."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import INT64, Record, Topology, TopologyBuilder
from kstreams.aggregators import count, sum_
from kstreams.durations import milliseconds, minutes
from kstreams.emit import at_most_every, each_update, every, once_per_batch
from kstreams.errors import TopologyError
from kstreams.state.stores.rate_limit.kind import RATE_LIMIT
from kstreams.state.stores.rate_limit.rows import RateLimitRows
from kstreams.topology import to_function
from kstreams.windows import HoppingWindows, SessionWindows, TumblingWindows, windowed_aggregate
from kstreams_rocksdb import RocksDB
from kstreams_testing.driver import TopologyTestDriver
from tests.kstreams.windows.test_properties import any_windows, rows_of, time_windows
from tests.support.apps.one_task import OneTask, queue_of, records
from tests.support.windows.windowed_runs import (
    ALL,
    SOURCE,
    Result,
    Row,
    driver_of,
    run,
    store_for,
    topology_of,
)

Handle = tuple[str, int, int]

FAR: list[Row] = [("end", 0, 50_000_000), ("end", 0, 100_000_000)]
"""Records that advance stream time beyond all buffered results, twice."""

TUMBLING = TumblingWindows(milliseconds(100))
intervals = st.integers(1, 30)
HELD = st.builds(
    lambda make, n: make(milliseconds(n)), st.sampled_from([every, at_most_every]), intervals
)


def flat(batches: list[list[Result]]) -> list[Result]:
    return [result for result in chain.from_iterable(batches) if result[0].key != "end"]


def last_of(results: list[Result]) -> dict[Handle, Any]:
    """Return the contents of a downstream table after all results."""
    table: dict[Handle, Any] = {}
    for window, value, time in results:
        handle = window.key, window.start_ms, window.end_ms
        if value is None:
            del table[handle]  # the deletion of a key that was not forwarded is an error
        else:
            table[handle] = value, time
    return table


def cut(data: st.DataObject, count: int) -> list[int]:
    places = st.sets(st.integers(1, count - 1), max_size=4) if count > 1 else st.just(set())
    return sorted(data.draw(places))


def test_emission_every_interval_forwards_changed_windows_once_at_its_end() -> None:
    rows = [("b", 1, 1), ("a", 2, 3), ("b", 3, 9), ("a", 4, 10), ("a", 5, 11), ("b", 6, 35)]
    batches, _, _ = run(TUMBLING, every(milliseconds(10)), rows, cuts=[1, 2, 3, 4, 5])
    found = [[(w.key, value, time) for w, value, time in batch] for batch in batches]
    assert found == [[], [], [], [("a", (2,), 3), ("b", (1, 3), 9)], [], [("a", (2, 4, 5), 11)]]


def test_emission_at_most_every_interval_forwards_first_change_immediately_and_last_later() -> None:
    rows = [("a", 1, 1), ("a", 2, 3), ("b", 7, 4), ("a", 3, 9), ("b", 0, 11), ("a", 4, 30)]
    batches, _, _ = run(TUMBLING, at_most_every(milliseconds(10)), rows, cuts=[1, 2, 3, 4, 5])
    found = [[(w.key, value, time) for w, value, time in batch] for batch in batches]
    assert found == [
        [("a", (1,), 1)],
        [],
        [("b", (7,), 4)],
        [],
        [("a", (1, 2, 3), 9)],
        [("a", (1, 2, 3, 4), 30), ("b", (7, 0), 11)],
    ]


def test_buffered_result_of_key_is_released_at_end_of_its_interval() -> None:
    rows = [("a", 1, 1), ("a", 2, 3), ("b", 7, 10), ("b", 8, 11)]
    batches, _, _ = run(TUMBLING, at_most_every(milliseconds(10)), rows, cuts=[1, 2, 3])
    found = [[(w.key, value) for w, value, _ in batch] for batch in batches]
    assert found == [[("a", (1,))], [], [("b", (7,))], [("a", (1, 2))]]


@pytest.mark.parametrize("cuts", [[], [1, 2, 3]], ids=str)
def test_sessions_that_were_never_forwarded_are_not_deleted(cuts: list[int]) -> None:
    windows = SessionWindows(milliseconds(5))
    rows = [("a", 1, 1), ("a", 2, 3), ("a", 3, 5), ("end", 0, 50)]
    for emit, expected in (
        (every(milliseconds(10)), [(1, 5, (1, 2, 3))]),
        (at_most_every(milliseconds(10)), [(1, 1, (1,)), (1, 1, None), (1, 5, (1, 2, 3))]),
    ):
        found = flat(run(windows, emit, rows, cuts)[0])
        assert [(w.start_ms, w.end_ms, value) for w, value, _ in found] == expected


def test_windows_of_same_key_share_rate_limit_interval() -> None:
    windows = HoppingWindows(milliseconds(10), milliseconds(5))
    rows = [("a", 1, 6), ("a", 2, 7), ("end", 0, 30)]
    batches, _, _ = run(windows, at_most_every(milliseconds(10)), rows, cuts=[1, 2])
    found = [[(w.start_ms, value) for w, value, _ in batch if w.key == "a"] for batch in batches]
    assert found == [[(0, (1,)), (5, (1,))], [], [(0, (1, 2)), (5, (1, 2))]]


@pytest.mark.parametrize("recreate", [True, False])
def test_rate_limited_emission_removes_inactive_keys_from_store(recreate: bool) -> None:
    emit = at_most_every(milliseconds(10))
    topology, _ = topology_of(TUMBLING, emit)
    waiting: Any = next(spec for spec in topology.stores if spec.kind == RATE_LIMIT)
    with TopologyTestDriver(topology, recreate_processors=recreate) as driver:
        for number in range(2000):
            driver.write(SOURCE, f"key {number}", 1, timestamp=number)
            if number % 400 == 0:
                driver.run()
        driver.run()
        assert RateLimitRows.of(driver.store(waiting)).approximate_count() < 400


def test_windowed_results_have_no_headers() -> None:
    for emit in (every(milliseconds(1)), at_most_every(milliseconds(1))):
        driver, sink = driver_of(TUMBLING, emit)
        with driver:
            for time in (1, 5):
                driver.pipe(SOURCE, "a", 1, timestamp=time, headers=(("h", b"1"),))
            assert {record.headers for record in driver.read(sink)} == {()}


@pytest.mark.long
@settings(max_examples=120)
@given(any_windows, HELD, rows_of, st.data())
def test_results_do_not_depend_on_batch_boundaries(
    windows: Any, emit: Any, rows: list[Row], data: st.DataObject
) -> None:
    rows = [*rows, *FAR]
    whole = run(windows, emit, rows)
    pieces = run(windows, emit, rows, cut(data, len(rows)))
    assert list(chain.from_iterable(pieces[0])) == whole[0][0]
    assert pieces[1:] == whole[1:]


@pytest.mark.long
@settings(max_examples=120)
@given(any_windows, HELD, rows_of, st.data())
def test_last_result_of_each_window_is_forwarded(
    windows: Any, emit: Any, rows: list[Row], data: st.DataObject
) -> None:
    rows = [*rows, *FAR]
    updates = flat(run(windows, each_update(), rows)[0])
    held = flat(run(windows, emit, rows, cut(data, len(rows)))[0])
    assert last_of(held) == last_of(updates)


@pytest.mark.long
@settings(max_examples=80)
@given(any_windows, intervals, rows_of)
def test_key_is_not_forwarded_again_within_interval(
    windows: Any, interval: int, rows: list[Row]
) -> None:
    rows = [*rows, *FAR]
    batches, _, _ = run(windows, at_most_every(milliseconds(interval)), rows, range(1, len(rows)))
    emitted: dict[str, int] = {}
    now = -1
    for (_, _, time), batch in zip(rows, batches, strict=True):
        now = max(now, time)
        for key in {window.key for window, _, _ in batch}:
            assert now - emitted.get(key, -interval) >= interval
            emitted[key] = now


@pytest.mark.long
@settings(max_examples=80)
@given(time_windows(), intervals, rows_of, st.data())
def test_emission_every_interval_equals_model_that_forwards_last_update_at_its_end(
    windows: Any, interval: int, rows: list[Row], data: st.DataObject
) -> None:
    rows = [*rows, *FAR]
    updates = run(windows, each_update(), rows, range(1, len(rows)))[0]
    expected: list[dict[Handle, Any]] = []
    waiting: dict[Handle, Any] = {}
    now = -1
    for (_, _, time), batch in zip(rows, updates, strict=True):
        if max(now, time) // interval > max(now, 0) // interval:
            expected.append(waiting)
            waiting = {}
        now = max(now, time)
        waiting.update({(w.key, w.start_ms, w.end_ms): (v, t) for w, v, t in batch})
    found = run(windows, every(milliseconds(interval)), rows, cut(data, len(rows)))[0]
    emitted = [((w.start_ms, w.end_ms, w.key), (v, t)) for w, v, t in chain.from_iterable(found)]
    assert emitted == [
        ((start, end, key), result)
        for span in expected
        for (key, start, end), result in sorted(span.items(), key=lambda i: (*i[0][1:], i[0][0]))
    ]


@pytest.mark.long
@settings(max_examples=100)
@given(time_windows(), intervals, rows_of, st.data())
def test_every_interval_forwards_same_results_by_columns_and_records(
    windows: Any, interval: int, rows: list[Row], data: st.DataObject
) -> None:
    rows = [*rows, FAR[0]]
    cuts, emit = cut(data, len(rows)), every(milliseconds(interval))
    by_records = run(windows, emit, rows, cuts, sum_(INT64), "records")
    whole = run(windows, emit, rows, cuts, sum_(INT64), "columns")
    assert whole[:2] == by_records[:2]


def results(task: OneTask, sink: Any, start: int, *rows: tuple[str, int, int]) -> list[Any]:
    """Run a batch of records, the first at offset `start`."""
    queue = queue_of(rows, offsets=range(start, start + len(rows)))
    found = records(task.run(queue).sinks.get("out"), sink)
    return [(record.key.key, record.value) for record in found]


def switched(task: OneTask, topology: Topology) -> OneTask:
    """Let a task continue with another topology."""
    (task.group,) = topology.groups
    task.renew()
    return task


@pytest.mark.parametrize(("first", "second"), [("records", "columns"), ("columns", "records")])
def test_results_buffered_by_columns_are_released_by_records_and_vice_versa(
    first: str, second: str
) -> None:
    emit = every(milliseconds(10))
    before, sink = topology_of(TUMBLING, emit, count(), first, INT64)
    after, _ = topology_of(TUMBLING, emit, count(), second, INT64)
    task = OneTask(before)
    assert results(task, sink, 0, ("a", 1, 1), ("a", 1, 2)) == []
    switched(task, after)
    assert results(task, sink, 2, ("b", 1, 20)) == [("a", 2)]


@pytest.mark.parametrize("execution", ["records", "columns"])
def test_results_buffered_for_longer_interval_are_released_after_it_is_shortened(
    execution: str,
) -> None:
    before, sink = topology_of(TUMBLING, every(milliseconds(50)), count(), execution, INT64)
    after, _ = topology_of(TUMBLING, every(milliseconds(10)), count(), execution, INT64)
    task = OneTask(before)
    assert results(task, sink, 0, ("a", 1, 1), ("a", 1, 2)) == []
    switched(task, after)
    found = results(task, sink, 2, ("a", 1, 3), ("a", 1, 10), ("b", 1, 70))
    assert found == [("a", 3), ("a", 4)]


@pytest.mark.parametrize("execution", ["records", "columns"])
def test_forwarded_session_that_grows_is_deleted_downstream(execution: Any) -> None:
    rows = [("a", 1, 10), ("a", 2, 10), ("a", 3, 11)]
    windows = SessionWindows(milliseconds(5))
    batches, _, _ = run(windows, once_per_batch(), rows, [1], sum_(INT64), execution)
    assert [(w.start_ms, w.end_ms, value) for w, value, _ in batches[1]] == [
        (10, 10, None),
        (10, 11, 6),
    ]


@pytest.mark.parametrize(
    ("windows", "emit", "why"),
    [
        (TUMBLING, at_most_every(minutes(1)), "processes each record separately"),
        (SessionWindows(minutes(1)), every(minutes(1)), "every.. of SessionWindows"),
    ],
)
def test_unsupported_emission_by_columns_is_rejected_with_reason(
    windows: Any, emit: Any, why: str
) -> None:
    with pytest.raises(TopologyError, match=why):
        driver_of(windows, emit, count(), "columns", INT64)


def test_emission_interval_must_be_positive() -> None:
    for make in (every, at_most_every):
        with pytest.raises(ValueError, match="interval"):
            make(milliseconds(0))


def test_failed_record_leaves_no_buffered_result() -> None:
    def refuse(record: Record[Any, Any]) -> None:
        if record.value == (13,):
            raise ValueError("no")
        emitted.append(record.value)

    emitted: list[Any] = []
    builder = TopologyBuilder("t", on_error="skip")
    source: Any = builder.add_source("in", SOURCE)
    store: Any = store_for(TUMBLING, ALL.state)
    supplier = windowed_aggregate(TUMBLING, ALL, store=store, emit=at_most_every(minutes(1)))
    builder.add_sink("out", to_function(refuse), builder.add_processor("w", supplier, source))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(SOURCE, "a", 13, timestamp=1)
        driver.pipe(SOURCE, "a", 2, timestamp=2)
    assert emitted == [(2,)]


@pytest.mark.slow
@pytest.mark.parametrize("execution", ["records", "columns"])
def test_results_buffered_on_disk_and_in_memory_are_equal(execution: Any) -> None:
    rows = [("abc"[n % 3], n, n * 7 % 101 + n) for n in range(300)]
    emissions: list[Any] = [every(milliseconds(30))]
    if execution == "records":
        emissions.append(at_most_every(milliseconds(30)))
    for emit in emissions:
        found = []
        for backend in (None, RocksDB()):
            topology, sink = topology_of(TUMBLING, emit, sum_(INT64), execution)
            with TopologyTestDriver(topology, state=backend, recreate_processors=True) as driver:
                for begin in range(0, len(rows), 25):
                    given = [Record(k, v, t) for k, v, t in rows[begin : begin + 25]]
                    driver.pipe_batch(SOURCE, given)
                driver.close_windows()
                found.append(driver.read(sink))
        assert found[0] == found[1]
        assert len(found[0]) > 10


@pytest.mark.parametrize(
    "emit", [every(minutes(1)), at_most_every(minutes(1))], ids=["every", "paced"]
)
def test_emission_buffer_has_changelog_if_window_store_has_one(emit: Any) -> None:
    store = store_for(TUMBLING, INT64)
    supplier = windowed_aggregate(TUMBLING, count(), store=store, emit=emit)
    assert supplier.stores[1].changelog is None
    logged = windowed_aggregate(TUMBLING, count(), store=store.with_changelog("log"), emit=emit)
    assert [spec.changelog for spec in logged.stores] == ["log", "log-waiting"]
