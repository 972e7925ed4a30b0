"""A view reads every kind of store as of a commit."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from kstreams import DOUBLE, INT64, TEXT, Record, Topic, TopologyBuilder
from kstreams.aggregators import count
from kstreams.durations import milliseconds
from kstreams.state.stores.key_value.expiring import ExpiringRows
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.versioned.kind import versioned_key_value_store
from kstreams.state.stores.versioned.store import VersionedValue
from kstreams.state.stores.window.kind import window_store
from kstreams.stores import list_store
from kstreams.testing import TopologyTestDriver
from kstreams.views.view import View
from kstreams.windowed import Windowed
from kstreams.windows import HoppingWindows, TumblingWindows, windowed_aggregate
from tests.support.apps.committing_app import PARTITIONS, Committing


def test_window_session_and_timestamped_stores_are_read(tmp_path: Path) -> None:
    tens = TumblingWindows(milliseconds(10))
    windows = window_store("w", key=TEXT, value=INT64, windows=tens)
    sessions = session_store("s", key=TEXT, value=INT64)
    stamped = timestamped_store("t", key=TEXT, value=INT64)
    one = Committing(tmp_path / "w", windows)
    one.put([])

    def in_place(fill: Any) -> Any:
        from kstreams.partitioner import partition_of

        return lambda store, p: [
            fill(store, key) for key in "abc" if partition_of(key.encode(), PARTITIONS) == p
        ]

    times = (0, 10, 20)
    one.commit(in_place(lambda s, key: [s.put(Windowed(key, t, t + 10), t + 1) for t in times]))
    with View(tmp_path / "w", windows) as view:
        assert view.get(Windowed("a", 10, 20)) == 11
        late = [(Windowed("b", 10, 20), 11), (Windowed("b", 20, 30), 21)]
        assert list(view.fetch("b", 5, 25)) == late
        assert list(view.fetch("b", from_ms=20, reverse=True)) == late[1:]
        assert list(view.fetch_all(0, 1)) == [(Windowed(key, 0, 10), 1) for key in "abc"]
        assert [w.key for w, _ in view.fetch_all(20, reverse=True)] == ["c", "b", "a"]
        ordered = [window for window, _ in view.fetch_range("a", "c", 0, 20)]
        assert ordered == [Windowed(key, start, start + 10) for start in (0, 10) for key in "ab"]
    two = Committing(tmp_path / "s", sessions)
    two.commit(in_place(lambda s, key: s.put(Windowed(key, 5, 9), 1)))
    with View(tmp_path / "s", sessions) as seen:
        assert seen.get(Windowed("a", 5, 9)) == 1
        assert list(seen.fetch("b")) == [(Windowed("b", 5, 9), 1)]
        assert list(seen.fetch_all()) == [(Windowed(key, 5, 9), 1) for key in "abc"]
    three = Committing(tmp_path / "t", stamped)
    three.commit(in_place(lambda s, key: s.put(key, 1, 77)))
    with View(tmp_path / "t", stamped) as timed:
        assert (timed.get("a"), timed.has("x")) == ((1, 77), False)
        assert list(timed.range("b")) == [("b", (1, 77)), ("c", (1, 77))]


def test_expired_and_versioned_values_are_read_as_of_commit(tmp_path: Path) -> None:
    fading = key_value_store("f", key=TEXT, value=INT64, ttl=timedelta(milliseconds=500))
    app = Committing(tmp_path / "f", fading, key=DOUBLE)
    app.commit(
        lambda store, partition: ExpiringRows.of(store).put_until(f"of {partition}", partition, 1)
    )
    with View(tmp_path / "f", fading) as view:
        assert (view.get("of 1"), len(list(view.items()))) == (1, PARTITIONS)
    wall = key_value_store(
        "w", key=TEXT, value=INT64, ttl=timedelta(milliseconds=1001), ttl_clock="wall"
    )
    app = Committing(tmp_path / "w", wall, key=DOUBLE)
    app.commit(lambda store, partition: store.put("a", partition))  # at 0, committed at 1000
    with View(tmp_path / "w", wall) as view:
        assert view.get("a") == 0
        app.commit(lambda store, partition: None)
        assert (view.get("a"), list(view.items())) == (None, [])
    prices = versioned_key_value_store("p", key=TEXT, value=INT64, retention=timedelta(seconds=1))
    app = Committing(tmp_path / "p", prices, key=DOUBLE)
    app.commit(lambda store, partition: [store.put("a", time, time) for time in (10, 20)])
    with View(tmp_path / "p", prices) as priced:
        assert priced.get("a") == VersionedValue(20, 20)
        assert priced.get("a", 15) == VersionedValue(10, 10, 20)


def test_versioned_and_list_stores_are_read_from_all_partitions(tmp_path: Path) -> None:
    prices = versioned_key_value_store("p", key=TEXT, value=INT64, retention=timedelta(seconds=1))
    app = Committing(tmp_path / "p", prices)
    app.commit(lambda store, partition: [store.put(f"k{partition}", t, t) for t in (10, 20)])
    with View(tmp_path / "p", prices) as priced:
        latest = [(f"k{n}", VersionedValue(20, 20)) for n in range(PARTITIONS)]
        assert list(priced.items()) == latest
        assert list(priced.range("k1", reverse=True)) == latest[:0:-1]
        assert priced.has("x") is False
    app = Committing(tmp_path / "own", prices, key=DOUBLE)  # keys are looked up in all partitions
    app.commit(lambda store, partition: partition == 2 and [store.put("a", t, t) for t in (10, 20)])
    with View(tmp_path / "own", prices) as priced:
        assert list(priced.history("a")) == [VersionedValue(10, 10, 20), VersionedValue(20, 20)]
        assert list(priced.history("a", 0, 15)) == [VersionedValue(10, 10, 20)]

    items = list_store("l", key=TEXT, value=INT64)
    app = Committing(tmp_path / "l", items, key=DOUBLE)
    app.commit(lambda store, partition: store.extend(f"k{partition}", range(partition)))
    with View(tmp_path / "l", items) as listed:
        assert (listed.get("k2"), listed.get("k0"), listed.get("x")) == ((0, 1), (), ())
        assert (listed.has("k2"), listed.has("k0")) == (True, False)
        assert list(listed.items()) == [("k1", (0,)), ("k2", (0, 1))]
        assert list(listed.range(reverse=True)) == [("k2", (0, 1)), ("k1", (0,))]


def test_view_reads_windows_written_by_aggregation(tmp_path: Path) -> None:
    windows = HoppingWindows(milliseconds(20), advance=milliseconds(10), grace=milliseconds(50))
    counts = window_store("w", key=TEXT, value=INT64, windows=windows)
    builder = TopologyBuilder("viewed")
    source = builder.add_source("in", Topic("in", TEXT, INT64))
    builder.add_processor("count", windowed_aggregate(windows, count(), store=counts), source)
    times = [("a", 5), ("b", 12), ("a", 15), ("a", 38)]
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe_batch(Topic("in", TEXT, INT64), [Record(key, 1, time) for key, time in times])
        written = list(driver.store(counts).fetch_all())
    app = Committing(tmp_path, counts, key=DOUBLE)

    def write(store: Any, partition: int) -> None:
        for window, value in written if partition == 1 else ():
            store.put(window, value)

    app.commit(write)
    with View(tmp_path, counts) as view:
        counted = ((0, 2), (10, 1), (20, 1), (30, 1))
        own = [(Windowed("a", start, start + 20), number) for start, number in counted]
        assert list(view.fetch("a")) == own
        assert list(view.fetch("a", 10, 30)) == own[1:3]
        assert list(view.fetch("a", from_ms=20, reverse=True)) == own[:1:-1]
        assert list(view.fetch_all(0, 10)) == [own[0], (Windowed("b", 0, 20), 1)]
        assert view.get(Windowed("b", 10, 30)) == 1
        assert view.get(Windowed("b", 20, 40)) is None
