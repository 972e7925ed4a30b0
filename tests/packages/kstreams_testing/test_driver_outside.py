"""Emitters, views and filled stores of the test driver."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import (
    INT64,
    TEXT,
    Emitter,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    View,
    aggregate,
    filter_,
    map_values,
    timestamped_store,
)
from kstreams.aggregators import count
from kstreams.durations import milliseconds, seconds
from kstreams.errors import (
    CheckpointMismatchError,
    ProcessingError,
    StoreError,
    TopologyError,
    UnknownTopicError,
)
from kstreams.stores import key_value_store, list_store, session_store, window_store
from kstreams.testing import TopologyTestDriver
from kstreams.views import RowChanges
from kstreams.windowed import Windowed
from kstreams.windows import TumblingWindows

CLICKS = Topic("clicks", key=TEXT, value=TEXT)
TOTALS = Topic("totals", key=TEXT, value=INT64)
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)


def counting() -> Topology:
    builder = TopologyBuilder("clicks")
    clicks = builder.add_source("clicks", CLICKS)
    totals = builder.add_processor("count", aggregate(count(), store=COUNTS), clicks)
    builder.add_sink("totals", TOTALS, totals)
    return builder.build()


def test_emitter_writes_typed_records_that_are_processed_immediately() -> None:
    with TopologyTestDriver(counting(), partitions=3, start=7_000) as driver:
        emitter = driver.emitter(CLICKS)
        assert isinstance(emitter, Emitter)
        place = emitter.emit("ann", "/home").result()
        assert (place.topic, place.offset) == ("clicks", 0)
        assert driver.read(TOTALS) == [Record("ann", 1, 7_000)]
        emitter.emit("ann", "/docs", timestamp=9_000)
        assert driver.store_contents(COUNTS) == {"ann": (2, 9_000)}
        assert emitter.emit_many([("bob", "/a"), ("bob", "/b"), ("ann", "/c")]) == 3
        assert driver.read_values(TOTALS) == {"ann": 3, "bob": 2}


def test_emitter_writes_to_topics_without_source() -> None:
    other = Topic("other", key=TEXT, value=INT64)
    with TopologyTestDriver(counting()) as driver, driver.emitter(other) as emitter:
        emitter.emit("a", 1, timestamp=5)
        assert driver.read(other) == [Record("a", 1, 5)]
        assert driver.connection.admin().topics() == ("clicks", "other", "totals")
        with pytest.raises(UnknownTopicError, match="no topic 'nosuch'"):
            driver.connection.admin().ends("nosuch")


def test_emitter_raises_errors_of_processing() -> None:
    def fails(value: str) -> str:
        raise ValueError("no")

    builder = TopologyBuilder("failing")
    node = builder.add_processor("up", map_values(fails), builder.add_source("clicks", CLICKS))
    builder.add_sink("out", Topic("out", key=TEXT, value=TEXT), node)
    with (
        TopologyTestDriver(builder.build()) as driver,
        pytest.raises(ProcessingError, match="no"),
    ):
        driver.emitter(CLICKS).emit("a", "b")


def test_connection_of_driver_reads_and_changes_topics_like_other_connections() -> None:
    with TopologyTestDriver(counting(), partitions=2) as driver:
        for number in range(6):
            driver.pipe(CLICKS, f"k{number}", "x", timestamp=10 * number)
        admin, reader = driver.connection.admin(), driver.connection.reader()
        ends = admin.ends("clicks").offsets
        assert sum(ends.values()) == 6
        assert admin.beginning_offsets("clicks") == {0: 0, 1: 0}
        found = [r for p, end in ends.items() for r in reader.read("clicks", p, 0, end)]
        assert sorted(r.timestamp for r in found) == [0, 10, 20, 30, 40, 50]
        since = admin.offsets_at("clicks", 25)
        assert sum(ends[p] - since[p] for p in ends) == 3
        places = [("clicks", 0), ("clicks", 1)]
        assert min(t for _, t in admin.first_since(places, 25).values()) == 30
        before = admin.ends("totals").topic_id
        admin.delete("totals")
        admin.create("totals", 2)
        assert admin.ends("totals").topic_id != before


def test_view_of_driver_shows_each_batch() -> None:
    with TopologyTestDriver(counting(), partitions=3, start=50) as driver:
        driver.pipe(CLICKS, "ann", "/home", timestamp=1_000)
        view = driver.view(COUNTS)
        assert isinstance(view, View)
        assert (view.get("ann"), view.get("bob"), view.version, view.wall_ms) == (
            (1, 1_000),
            None,
            1,
            50,
        )
        scan = view.items()
        driver.pipe(CLICKS, "bob", "/home", timestamp=2_000)
        assert list(scan) == [("ann", (1, 1_000))]
        assert dict(view.items()) == driver.store_contents(COUNTS)
        view.wait_recovered(seconds(10))
        assert view.recovered
        view.evict("ann")
        assert view.get("ann") is None
        driver.pipe(CLICKS, "ann", "/docs", timestamp=3_000)
        assert view.get("ann") == (2, 3_000)
        with driver.view(COUNTS, as_of=1) as old:
            assert list(old.items()) == [("ann", (1, 1_000))]
        assert view.versions() == [1, 2, 3]
    with pytest.raises(StoreError, match="is closed"):
        view.get("ann")


def test_view_stays_current_after_more_batches_than_one_snapshot_interval() -> None:
    seen: list[dict[str, tuple[int, int] | None]] = []

    def note(changes: RowChanges[str, tuple[int, int] | None]) -> None:
        seen.append({row.key: row.new for row in changes})

    with TopologyTestDriver(counting(), partitions=2) as driver:
        view = driver.view(COUNTS)
        with view.follow_rows(note, poll=milliseconds(2)):
            for number in range(150):
                driver.pipe(CLICKS, f"k{number % 7}", "x", timestamp=number)
            view.refresh()
            while not seen or view.version != 150:
                pass
        assert dict(view.items()) == driver.store_contents(COUNTS)
        assert (view.versions()[0], view.versions()[-1]) == (51, 150)
        with pytest.raises(StoreError, match="batch 5 of the test driver is not retained"):
            driver.view(COUNTS, as_of=5)
    known: dict[str, object] = {}
    for rows in seen:
        known |= rows
    assert set(known) <= {f"k{n}" for n in range(7)}


def test_view_shows_direct_puts_after_next_batch() -> None:
    with TopologyTestDriver(counting()) as driver, driver.view(COUNTS) as view:
        driver.store(COUNTS).put("zoe", 7, 5)
        driver.pipe(CLICKS, "ann", "/home", timestamp=1_000)
        assert dict(view.items()) == {"ann": (1, 1_000), "zoe": (7, 5)}


def test_view_of_missing_store_raises() -> None:
    with (
        TopologyTestDriver(counting()) as driver,
        pytest.raises(CheckpointMismatchError, match="has no store 'other'"),
    ):
        driver.view(key_value_store("other", key=TEXT, value=INT64))


@pytest.mark.parametrize("partitions", [1, 3])
def test_driver_fill_puts_rows_into_partitions_of_their_keys(partitions: int) -> None:
    with TopologyTestDriver(counting(), partitions=partitions) as driver:
        rows = {f"k{n}": (n, 10 * n) for n in range(1, 10)}
        driver.fill(COUNTS, rows)
        assert driver.store_contents(COUNTS) == rows
        for key in rows:
            driver.pipe(CLICKS, key, "x", timestamp=500)
        assert driver.read_values(TOTALS) == {key: n + 1 for key, (n, _) in rows.items()}


def test_driver_fill_makes_a_version_for_views_and_keeps_direct_puts() -> None:
    with TopologyTestDriver(counting()) as driver, driver.view(COUNTS) as view:
        driver.store(COUNTS).put("zoe", 7, 5)
        driver.fill(COUNTS, {"ann": (4, 9)})
        assert dict(view.items()) == {"ann": (4, 9), "zoe": (7, 5)}
        assert driver.store_contents(COUNTS) == {"ann": (4, 9), "zoe": (7, 5)}


_ROWS: list[tuple[Any, dict[Any, Any]]] = [
    (key_value_store("s", key=TEXT, value=INT64), {"a": 1, "b": 2}),
    (list_store("s", key=TEXT, value=INT64), {"a": (1, 2, 3, 4, 5, 6), "b": (7,)}),
    (
        window_store("s", key=TEXT, value=INT64, windows=TumblingWindows(milliseconds(10))),
        {Windowed("a", 10, 20): 3, Windowed("b", 0, 10): 4},
    ),
    (session_store("s", key=TEXT, value=INT64), {Windowed("a", 5, 9): 3}),
]


@pytest.mark.parametrize(("spec", "rows"), _ROWS, ids=lambda x: getattr(x, "kind", x) and "")
def test_driver_fill_accepts_pairs_yielded_by_stores(spec: Any, rows: dict[Any, Any]) -> None:
    builder = TopologyBuilder("kinds")
    source = builder.add_source("clicks", CLICKS)
    builder.add_processor("keep", filter_(lambda k, v: True), source, stores=[spec])
    with TopologyTestDriver(builder.build(), partitions=2) as driver:
        driver.fill(spec, rows)
        driver.fill(spec, rows)
        found: dict[Any, Any] = {}
        for partition in range(2):
            store: Any = driver.store(spec, partition)
            found.update(store.fetch_all() if hasattr(store, "fetch_all") else store.range())
        assert found == rows


def test_driver_fill_requires_partition_argument_if_partition_of_keys_is_unknown() -> None:
    spec = key_value_store("s", key=INT64, value=INT64)
    builder = TopologyBuilder("other-keys")
    source = builder.add_source("clicks", CLICKS)
    builder.add_processor("keep", filter_(lambda k, v: True), source, stores=[spec])
    topology = builder.build()
    with TopologyTestDriver(topology, partitions=2) as driver:
        with pytest.raises(
            TopologyError, match="the partitions of the keys of store 's' are unknown"
        ):
            driver.fill(spec, {1: 2})
        with pytest.raises(TopologyError, match="has no partition 2; expected 0 to 1"):
            driver.fill(spec, {1: 2}, partition=2)
        with pytest.raises(TopologyError, match="no store 'counts'"):
            driver.fill(COUNTS, {})
        driver.fill(spec, {1: 2}, partition=1)
        assert dict(driver.store(spec, 1).range()) == {1: 2}
    with TopologyTestDriver(topology) as single:
        single.fill(spec, {1: 2})
        assert single.store_contents(spec) == {1: 2}
