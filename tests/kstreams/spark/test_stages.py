"""Stages of one batch, topics between queries, and start positions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

import pytest

from kstreams import (
    INT64,
    TEXT,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    filter_,
    map_,
    map_values,
    rekey,
)
from kstreams.aggregators import count
from kstreams.durations import milliseconds
from kstreams.io import topic_by
from kstreams.operators import reduce
from kstreams.stores import timestamped_store, window_store
from kstreams.windows import HoppingWindows, Windowed, windowed_aggregate
from kstreams_json import json_serde
from kstreams_testing.driver import TopologyTestDriver
from tests.kstreams.spark.running_sum import NUMBERS, SUMS, store, summing
from tests.support.spark.bench import COUNTS, WORDS, Bench, counting

pytestmark = pytest.mark.spark

MORE = Topic("more", TEXT, INT64)


# ------------------------------------------------------------------- several groups


def chain() -> Topology:
    """Return a topology of three stages: sources in the first and last, an edge that skips one."""
    builder = TopologyBuilder("chain")
    one = summing(builder, "one", builder.add_source("numbers", NUMBERS))
    builder.add_sink("at-one", Topic("at-one", TEXT, INT64), one)
    thirds = builder.add_processor("thirds", rekey(_third), one)
    second = builder.repartition("edge-two", thirds, key=TEXT, value=INT64, partitions=3)
    two = summing(builder, "two", second)
    builder.add_sink("at-two", Topic("at-two", TEXT, INT64), two)
    halves = builder.add_processor("halves", rekey(_half), two)
    past = builder.add_processor("past", rekey(_half), one)
    third = builder.repartition("edge-three", halves, key=TEXT, value=INT64, partitions=2)
    skips = builder.repartition("edge-past", past, key=TEXT, value=INT64, partitions=2)
    more = builder.add_source("more", MORE)
    three = summing(builder, "three", third, skips, more)
    builder.add_sink("at-three", Topic("at-three", TEXT, INT64), three)
    return builder.build()


def _third(key: str, value: int) -> str:
    return f"third{value % 3}"


def _half(key: str, value: int) -> str:
    return f"half{value % 2}"


def test_three_stages_in_one_batch_give_results_of_test_driver(bench: Bench) -> None:
    topology = chain()
    assert [len(groups) for groups in topology.pipelines()] == [3]
    batches = [
        ([Record(f"k{n % 4}", n, n) for n in range(12)], [Record("half0", 1, 5)]),
        ([], [Record("half1", 7, 9), Record("half0", 2, 3)]),
        ([Record("k1", 5, 20)], []),
    ]
    bench.create(NUMBERS, MORE)
    with TopologyTestDriver(topology, partitions={"numbers": 2, "more": 2}) as driver:
        with bench.app(topology) as app:
            app.open()
            for numbers, more in batches:
                for topic, records in ((NUMBERS, numbers), (MORE, more)):
                    bench.emit(topic, records)
                    for record in records:
                        driver.write(topic, record.key, record.value, timestamp=record.timestamp)
                driver.run()
                app.drain()
        for name in ("one", "two", "three"):
            assert bench.store(topology, store(name)) == driver.store_contents(store(name))
            out = Topic(f"at-{name}", TEXT, INT64)
            driver_results = [(record.key, record.value) for record in driver.read(out)]
            assert by_key(bench.records(out)) == by_key(driver_results)
    assert [report.batch for report in bench.reports] == [0, 1, 2]
    assert [report.source_records for report in bench.reports] == [13, 2, 1]


PAIR = json_serde(tuple[int, str])
GREATEST = Topic("greatest", INT64, PAIR)
BY_WINDOW = timestamped_store("greatest", key=INT64, value=PAIR)


def greatest() -> Topology:
    """Return a topology of two stages by columns: counts of hopping windows, and their maxima."""

    def by_window(key: Windowed[str], count: int) -> tuple[int, tuple[int, str]]:
        return key.start_ms, (count, key.key)

    builder = TopologyBuilder("greatest")
    counting_all = windowed_aggregate(
        HoppingWindows(milliseconds(10), milliseconds(5)),
        count(),
        store=window_store("by-key", key=TEXT, value=INT64),
    )
    counts = builder.add_processor("count", counting_all, builder.add_source("numbers", NUMBERS))
    pairs = builder.add_processor("by-window", map_(by_window), counts)
    edge = builder.repartition("edge", pairs, key=INT64, value=PAIR, partitions=2)
    found = builder.add_processor("greatest", reduce(max, store=BY_WINDOW), edge)
    builder.add_sink("out", GREATEST, found)
    return builder.build()


def test_maxima_of_windows_equal_results_of_test_driver(bench: Bench) -> None:
    topology = greatest()
    assert topology.describe().count("execution: columns") == 3
    batches = [[(f"k{n * n % 7}", n, n) for n in range(start, start + 40)] for start in (0, 30)]
    bench.create(NUMBERS)
    with TopologyTestDriver(topology, partitions={"numbers": 2}) as driver:
        with bench.app(topology) as app:
            app.open()
            for batch in batches:
                bench.emit(NUMBERS, [Record(*row) for row in batch])
                driver.pipe_batch(NUMBERS, [Record(*row) for row in batch])
                app.drain()
        assert bench.store(topology, BY_WINDOW) == driver.store_contents(BY_WINDOW)
        driver_results = [(str(record.key), record.value) for record in driver.read(GREATEST)]
        found = [(str(key), value) for key, value in bench.records(GREATEST)]
        assert by_key(found) == by_key(driver_results)
        assert len(driver_results) > 10


def by_key(records: Iterable[tuple[str, Any]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for key, value in records:
        found.setdefault(key, []).append(value)
    return found


def relay() -> Topology:
    """Return a topology of two queries; the first feeds the second through a topic."""
    builder = TopologyBuilder("relay")
    between = Topic("between", TEXT, INT64)
    builder.add_sink(
        "between", between, summing(builder, "one", builder.add_source("numbers", NUMBERS))
    )
    builder.add_sink("sums", SUMS, summing(builder, "two", builder.add_source("again", between)))
    return builder.build()


def test_run_to_end_processes_topics_between_queries(bench: Bench) -> None:
    topology = relay()
    assert len(topology.pipelines()) == 2
    bench.create(NUMBERS, Topic("between", TEXT, INT64))
    bench.emit(NUMBERS, [("a", n) for n in range(1, 5)])
    bench.run(topology)
    assert bench.records(SUMS) == [("a", 1), ("a", 4), ("a", 10), ("a", 20)]
    assert {report.query for report in bench.reports} == {"numbers", "again"}


def test_cycle_of_topics_runs_until_no_records_are_left(bench: Bench) -> None:
    builder = TopologyBuilder("cycle")
    source = builder.add_source("numbers", NUMBERS)
    less = builder.add_processor("less", map_values(_one_less), source)
    left = builder.add_processor("left", filter_(_positive), less)
    builder.add_sink("again", NUMBERS, left)
    builder.add_sink("sums", SUMS, less)
    bench.create(NUMBERS)
    bench.emit(NUMBERS, [("a", 3), ("b", 1)])
    bench.run(builder.build())
    assert sorted(bench.records(SUMS)) == [("a", 0), ("a", 1), ("a", 2), ("b", 0)]


def _one_less(value: int) -> int:
    return value - 1


def _positive(key: str, value: int) -> bool:
    return value > 0


# ------------------------------------------------------------------- bounds and starts


def test_batches_stay_within_record_limit(bench: Bench) -> None:
    bench.create(WORDS)
    bench.emit(WORDS, [(f"k{n % 5}", "x") for n in range(40)])
    bench.run(counting(), max_records_per_batch=15)
    assert [report.source_records for report in bench.reports] == [15, 15, 10]
    assert [report.backlog for report in bench.reports][-1] == 0
    assert bench.store(counting(), COUNTS) == {f"k{n}": 8 for n in range(5)}


def test_sources_begin_at_configured_start_and_continue_from_there(bench: Bench) -> None:
    def topology() -> Topology:
        builder = TopologyBuilder("starts")
        for name, start in (
            ("earliest", "earliest"),
            ("latest", "latest"),
            ("timed", datetime.fromtimestamp(2, timezone.utc)),
        ):
            source = builder.add_source(name, Topic(name, TEXT, INT64), start=start)  # type: ignore[arg-type]  # a str to mypy
            builder.add_sink(
                f"out-{name}", topic_by(lambda r: "out", key=TEXT, value=INT64), source
            )
        return builder.build()

    names = ("earliest", "latest", "timed")
    for name in names:
        topic = Topic(name, TEXT, INT64)
        bench.create(topic, partitions=1)
        bench.emit(topic, [Record(name, n, n * 1_000) for n in range(4)])
    bench.run(topology())
    for name in names:
        bench.emit(Topic(name, TEXT, INT64), [Record(name, 9, 500)])
    bench.run(topology())
    found = sorted(bench.records(Topic("out", TEXT, INT64)))
    assert found == [
        *(("earliest", n) for n in (0, 1, 2, 3, 9)),
        ("latest", 9),
        *(("timed", n) for n in (2, 3, 9)),
    ]


# ------------------------------------------------------------------- punctuators
