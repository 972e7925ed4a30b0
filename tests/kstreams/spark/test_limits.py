"""Runs that end by limits and bounded sources, on Spark as on the test driver."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from kstreams import INT64, TEXT, Record, Topic, Topology, TopologyBuilder
from kstreams.aggregators import count
from kstreams.app import AppState
from kstreams.durations import milliseconds
from kstreams.emit import on_close
from kstreams.errors import CompileError
from kstreams.operators import filter_, flat_map_values, limit, rekey
from kstreams.serde import NONE
from kstreams.sources import Lines, bounded, folder, items
from kstreams.stores import window_store
from kstreams.testing import TopologyTestDriver
from kstreams.windows import TumblingWindows, windowed_aggregate
from tests.support.spark.bench import Bench

pytestmark = pytest.mark.spark

NUMBERS = Topic("numbers", TEXT, INT64)
OUT = Topic("out", TEXT, INT64)
LINES = Topic("lines-out", NONE, TEXT)
SOON = timedelta(seconds=90)


def one_stage(at_most: int) -> Topology:
    builder = TopologyBuilder("one-stage")
    node = builder.add_source("numbers", NUMBERS)
    kept = builder.add_processor("kept", filter_(lambda _, value: value % 3 > 0), node)
    builder.add_sink("out", OUT, builder.add_processor("first", limit(at_most), kept))
    return builder.build()


def two_stages(at_most: int) -> Topology:
    """Return a topology with limits before and after a repartition; the first is not reached."""
    builder = TopologyBuilder("two-stages")
    node = builder.add_source("numbers", NUMBERS)
    some = builder.add_processor("some", limit(400), node)
    many = builder.add_processor("many", flat_map_values(lambda value: [value, -value]), some)
    keyed = builder.add_processor("keyed", rekey(lambda _, value: f"n{value}"), many)
    edge = builder.repartition("edge", keyed, key=TEXT, value=INT64, partitions=3)
    builder.add_sink("out", OUT, builder.add_processor("first", limit(at_most), edge))
    return builder.build()


def run(bench: Bench, topology: Topology, **options: object) -> None:
    """Run an app without `until`; fail if the run does not end."""
    app = bench.app(topology, **options)
    app.run(timeout=SOON)
    assert app.state is AppState.STOPPED
    assert bench.reports


@pytest.mark.parametrize("made", [one_stage, two_stages])
def test_run_ends_with_exactly_the_limit_on_spark_and_test_driver(
    bench: Bench, made: Callable[[int], Topology]
) -> None:
    topology = made(25)
    records = [Record(f"k{number}", number, number // 7) for number in range(200)]
    bench.create(NUMBERS, OUT, partitions=4)
    bench.emit(NUMBERS, records)
    run(bench, topology)
    with TopologyTestDriver(topology, partitions=4) as driver:
        driver.pipe_batch(NUMBERS, records)
        assert driver.finished
        expected = [(record.key, record.value) for record in driver.read(OUT)]
    assert len(bench.records(OUT)) == 25
    assert sorted(bench.records(OUT)) == sorted(expected)


def test_limit_continues_after_restart_and_stops_reading_at_last_record(
    bench: Bench,
) -> None:
    bench.create(NUMBERS, OUT, partitions=1)
    bench.emit(NUMBERS, [("k", number) for number in range(6)])
    bench.run(one_stage(10))
    assert len(bench.records(OUT)) == 4
    bench.emit(NUMBERS, [("k", number) for number in range(6, 60)])
    run(bench, one_stage(10))
    assert [value for _, value in bench.records(OUT)] == [1, 2, 4, 5, 7, 8, 10, 11, 13, 14]
    positions = bench.last_commit(one_stage(10)).positions
    assert list(positions.values()) == [15]
    bench.run(one_stage(10))
    assert len(bench.records(OUT)) == 10
    run(bench, one_stage(12))
    assert [value for _, value in bench.records(OUT)][10:] == [16, 17]


def test_run_ends_with_last_record_of_bounded_sources_and_closes_windows(bench: Bench) -> None:
    builder = TopologyBuilder("bounded")
    words = items("words", ["a", "b", "a", "c"], TEXT, every=milliseconds(4), partitions=2)
    node = builder.add_source("words", words)
    keyed = builder.add_processor("keyed", rekey(lambda _, word: word), node)
    edge = builder.repartition("edge", keyed, key=TEXT, value=TEXT, partitions=1)
    store = window_store("counts", key=TEXT, value=INT64)
    windows = TumblingWindows(milliseconds(10))
    counted = windowed_aggregate(windows, count(), store=store, emit=on_close())
    closed = builder.add_processor("counted", counted, edge)
    plain = builder.add_processor("plain", rekey(lambda window, _: window.key), closed)
    builder.add_sink("out", OUT, plain)
    bench.create(OUT, partitions=1)
    bench.app(builder.build()).run(timeout=SOON, close_windows=True)
    assert sorted(bench.records(OUT)) == [("a", 2), ("b", 1), ("c", 1)]


def test_bounded_folder_is_read_to_its_end_at_start_of_each_run(
    bench: Bench, tmp_path: Path
) -> None:
    place = tmp_path / "files"
    place.mkdir()
    (place / "a.txt").write_text("one\ntwo\n")
    builder = TopologyBuilder("files")
    node = builder.add_source("lines", bounded(folder("lines", place, Lines(TEXT))))
    builder.add_sink("out", LINES, node)
    topology = builder.build()
    bench.create(LINES, partitions=1)
    written: list[Path] = []

    def write_more(_: object) -> None:
        if not written:
            written.append(place / "b.txt")
            written[0].write_text("three\n")

    bench.app(topology, on_batch=write_more).run(timeout=SOON)
    assert [record.value for record in bench.raw(LINES)] == [b"one", b"two"]
    bench.app(topology).run(timeout=SOON)
    assert [record.value for record in bench.raw(LINES)] == [b"one", b"two", b"three"]


def test_started_app_stays_open_after_end_of_input(bench: Bench) -> None:
    builder = TopologyBuilder("started")
    node = builder.add_source("words", items("words", ["a", "b"], TEXT))
    builder.add_sink("out", LINES, node)
    bench.create(LINES, partitions=1)
    app = bench.app(builder.build())
    app.start()
    app.close()
    assert app.state is AppState.STOPPED


def test_close_windows_is_rejected_for_run_without_end(bench: Bench) -> None:
    builder = TopologyBuilder("endless")
    builder.add_sink("out", OUT, builder.add_source("numbers", NUMBERS))
    with pytest.raises(CompileError, match="runs that end"):
        bench.app(builder.build()).run(close_windows=True)
