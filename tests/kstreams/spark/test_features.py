"""What a topology can do, on Spark: chains of groups, cycles, punctuators, sinks, policies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kstreams import (
    INT64,
    NONE,
    TEXT,
    DeadLetter,
    FixedKeyProcessor,
    Node,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    filter_,
    flat_map,
    key_value_store,
    map_values,
    rekey,
)
from kstreams.ids import TaskId
from kstreams.io import topic_by
from kstreams.processors import FixedKeyBatchProcessor, PunctuationType
from kstreams.testing import FakeClock
from kstreams.testing.driver import TopologyTestDriver
from kstreams.topology import to_function, to_stdout
from tests.kstreams.spark.apps import COUNTS, TOTALS, WORDS, Bench, Count, counting, sums

pytestmark = pytest.mark.spark

NUMBERS = Topic("numbers", TEXT, INT64)
MORE = Topic("more", TEXT, INT64)
SUMS = Topic("sums", TEXT, INT64)
TICKS = Topic("ticks", TEXT, INT64)


def store(name: str) -> Any:
    return key_value_store(name, key=TEXT, value=INT64)


class Sum(FixedKeyProcessor[str, int, int]):
    """Running sum of each key."""

    def __init__(self, name: str) -> None:
        self.name = name

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.sums = context, context.store(store(self.name))

    def process(self, record: Record[str, int]) -> None:
        total = (self.sums.get(record.key) or 0) + record.value
        self.sums.put(record.key, total)
        self.context.forward(record.with_value(total))


def summing(builder: TopologyBuilder, name: str, *parents: Node[str, int]) -> Node[str, int]:
    return builder.add_processor(name, lambda: Sum(name), *parents, stores=[store(name)])


# ------------------------------------------------------------------- several groups


def chain() -> Topology:
    """Build three stages: sources at the first and the last, and an edge past the second."""
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


def test_three_stages_in_one_batch_give_what_the_driver_gives(bench: Bench) -> None:
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
            told = [(record.key, record.value) for record in driver.read(out)]
            assert by_key(bench.records(out)) == by_key(told)
    assert [report.batch for report in bench.reports] == [0, 1, 2]
    assert [report.source_records for report in bench.reports] == [13, 2, 1]


def by_key(records: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for key, value in records:
        found.setdefault(key, []).append(value)
    return found


def relay() -> Topology:
    """Build two queries; the first feeds the second through a topic."""
    builder = TopologyBuilder("relay")
    between = Topic("between", TEXT, INT64)
    builder.add_sink(
        "between", between, summing(builder, "one", builder.add_source("numbers", NUMBERS))
    )
    builder.add_sink("sums", SUMS, summing(builder, "two", builder.add_source("again", between)))
    return builder.build()


def test_a_run_to_the_end_goes_through_topics_between_queries(bench: Bench) -> None:
    topology = relay()
    assert len(topology.pipelines()) == 2
    bench.create(NUMBERS, Topic("between", TEXT, INT64))
    bench.emit(NUMBERS, [("a", n) for n in range(1, 5)])
    bench.run(topology)
    assert bench.records(SUMS) == [("a", 1), ("a", 4), ("a", 10), ("a", 20)]
    assert {report.query for report in bench.reports} == {"numbers", "again"}


def test_a_cycle_of_topics_goes_on_until_it_is_quiet(bench: Bench) -> None:
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


def test_batches_stay_within_their_bound(bench: Bench) -> None:
    bench.create(WORDS)
    bench.emit(WORDS, [(f"k{n % 5}", "x") for n in range(40)])
    bench.run(counting(), max_records_per_batch=15)
    assert [report.source_records for report in bench.reports] == [15, 15, 10]
    assert [report.backlog for report in bench.reports][-1] == 0
    assert bench.store(counting(), COUNTS) == {f"k{n}": 8 for n in range(5)}


def test_sources_start_where_they_say_and_then_go_on(bench: Bench) -> None:
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


class Tick(FixedKeyProcessor[str, int, int]):
    """Forwards the time at each tick of its clock."""

    def __init__(self, clock: PunctuationType) -> None:
        self.clock = clock

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context = context
        context.schedule(timedelta(seconds=1), self.clock, self.tick)

    def tick(self, now: int) -> None:
        self.context.forward(Record(str(self.context.task.partition), now, now))

    def process(self, record: Record[str, int]) -> None:
        pass


def ticking(clock: PunctuationType) -> Topology:
    builder = TopologyBuilder("ticking")
    ticks = builder.add_processor(
        "tick", lambda: Tick(clock), builder.add_source("numbers", NUMBERS)
    )
    builder.add_sink("ticks", TICKS, ticks)
    return builder.build()


def test_stream_time_ticks_with_records_alone(bench: Bench) -> None:
    bench.create(NUMBERS, partitions=1)
    topology = ticking(PunctuationType.STREAM_TIME)
    with bench.app(topology) as app:
        app.open()
        bench.emit(NUMBERS, [Record("a", 0, 100), Record("a", 0, 2_500)])
        app.drain()
    bench.emit(NUMBERS, [Record("a", 0, 2_900), Record("a", 0, 3_000)])
    bench.run(topology)
    assert bench.records(TICKS) == [("0", 100), ("0", 2_500), ("0", 3_000)]


def test_the_wall_clock_ticks_without_any_input_also_after_a_restart(bench: Bench) -> None:
    bench.create(NUMBERS, partitions=2)
    topology = ticking(PunctuationType.WALL_CLOCK_TIME)
    clock = FakeClock(10_000)
    with bench.app(topology, clock=clock) as app:
        app.open()
        app.drain()
        clock.advance(timedelta(milliseconds=999))
        app.drain()
        assert TICKS.name not in bench.connection.admin().topics()
        clock.advance(timedelta(milliseconds=1))
        app.drain()
        app.drain()
        assert sorted(bench.records(TICKS)) == [("0", 11_000), ("1", 11_000)]
    clock.advance(timedelta(milliseconds=2_500))
    with bench.app(topology, clock=clock) as app:
        app.open()
        app.drain()
        assert sorted(bench.records(TICKS))[1::2] == [("0", 13_500), ("1", 13_500)]
        clock.advance(timedelta(milliseconds=500))
        app.drain()
    assert len(bench.records(TICKS)) == 6
    assert all(report.source_records == 0 for report in bench.reports)


# ------------------------------------------------------------------- sinks


def test_sinks_that_are_no_topics(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    seen = bench.home / "seen"
    builder = TopologyBuilder("sinks")
    numbers = builder.add_source("numbers", NUMBERS)
    builder.add_sink("print", to_stdout(), numbers)
    builder.add_sink("call", to_function(_noting(seen)), numbers)
    bench.create(NUMBERS)
    bench.emit(NUMBERS, [Record("a", 1, 5), Record("b", 2, 6)])
    bench.run(builder.build())
    assert sorted(seen.read_text().splitlines()) == ["a 1 5", "b 2 6"]
    lines = [line for line in capsys.readouterr().out.splitlines() if "1" in line or "2" in line]
    assert len(lines) == 2


def _noting(path: Path) -> Callable[[Record[str, int]], None]:
    def note(record: Record[str, int]) -> None:
        with path.open("a") as file:
            file.write(f"{record.key} {record.value} {record.timestamp}\n")

    return note


def test_topics_chosen_by_record_come_into_being_and_headers_stay(bench: Bench) -> None:
    builder = TopologyBuilder("by-record")
    numbers = builder.add_source("numbers", NUMBERS)
    builder.add_sink("by", topic_by(_topic_of, key=TEXT, value=INT64), numbers)
    edge = builder.repartition("edge", numbers, key=TEXT, value=INT64)
    builder.add_sink("sums", SUMS, edge)
    bench.create(NUMBERS)
    headers = (("h", b"1"), ("h", None), ("é", b""))
    bench.emit(NUMBERS, [Record("a", 1, 5, headers), Record("b", 2, 6)])
    bench.run(builder.build())
    (one,) = bench.raw("out-1")
    assert (one.key, one.timestamp, one.headers) == (b"a", 5, headers)
    assert [row.key for row in bench.raw("out-0")] == [b"b"]
    assert bench.connection.admin().partition_count("out-0") == 4
    assert {row.key: row.headers for row in bench.raw(SUMS)} == {b"a": headers, b"b": ()}


def _topic_of(record: Record[str, int]) -> str:
    return f"out-{record.value % 2}"


# ------------------------------------------------------------------- policies, interceptors, nulls


def _fragile(value: int) -> int:
    if value == 13:
        raise ValueError("thirteen")
    return value


@pytest.mark.parametrize("policy", ["skip", "dead-letter"])
def test_failing_records_go_where_the_policy_says(bench: Bench, policy: str) -> None:
    on_error: Any = DeadLetter("letters") if policy == "dead-letter" else policy
    builder = TopologyBuilder("policies", on_error=on_error)
    numbers = builder.add_source("numbers", NUMBERS)
    builder.add_sink("sums", SUMS, builder.add_processor("fragile", map_values(_fragile), numbers))
    bench.create(NUMBERS)
    bench.emit(NUMBERS, [("a", 1), ("a", 13), ("a", 2)])
    bench.emit(Topic("numbers", TEXT, TEXT), [("a", "no number")])
    bench.emit(NUMBERS, [("a", 3)])
    bench.run(builder.build())
    assert bench.records(SUMS) == [("a", 1), ("a", 2), ("a", 3)]
    assert sums(bench.reports) == {
        f"{'skipped' if policy == 'skip' else 'dead-letter'}-{kind}": 1
        for kind in ("ProcessingError", "DeserializationError")
    }
    if policy == "dead-letter":
        letters = bench.raw("letters")
        assert {row.value for row in letters} == {INT64.serialize(13), b"no number"}
        reasons = [dict(row.headers) for row in letters]
        assert {reason["kstreams-error-node"] for reason in reasons} == {b"fragile", b"numbers"}


class Noting:
    """Writes each call of a node to a file."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name

    def bind(
        self, node: str, task: TaskId, process: Callable[[Record[Any, Any]], None]
    ) -> Callable[[Record[Any, Any]], None]:
        def noted(record: Record[Any, Any]) -> None:
            with self.path.open("a") as file:
                file.write(json.dumps([self.name, node, str(task), record.key]) + "\n")
            process(record)

        return noted


def test_interceptors_stand_around_each_processor(bench: Bench) -> None:
    path = bench.home / "noted"
    bench.create(WORDS, partitions=1)
    bench.emit(WORDS, [("a", "x"), ("b", "x")])
    bench.run(counting(), interceptors=[Noting(path, "outer"), Noting(path, "inner")])
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        [name, "count", "words/0", key] for key in "ab" for name in ("outer", "inner")
    ]
    assert bench.records(TOTALS) == [("a", 1), ("b", 1)]


class AddOne(FixedKeyBatchProcessor[str, int, int]):
    """Adds one to each value."""

    def process_batch(self, table: pa.Table) -> None:
        place = table.schema.get_field_index("value")
        self.context.forward(table.set_column(place, "value", pc.add(table.column("value"), 1)))


def test_batch_processors_get_whole_tables(bench: Bench) -> None:
    builder = TopologyBuilder("batches")
    more = builder.add_processor("add", AddOne, builder.add_source("numbers", NUMBERS))
    builder.add_sink("sums", SUMS, summing(builder, "sum", more))
    bench.create(NUMBERS)
    bench.emit(NUMBERS, [("a", 1), ("b", 5), ("a", 2)])
    bench.run(builder.build())
    assert sorted(bench.records(SUMS)) == [("a", 2), ("a", 5), ("b", 6)]


def test_nulls_are_dropped_and_counted_or_passed(bench: Bench) -> None:
    keyless = Topic("keyless", NONE, TEXT)
    passing = Topic("passing", TEXT, INT64, nulls="pass")
    builder = TopologyBuilder("nulls")
    numbers = builder.add_source("numbers", NUMBERS)
    builder.add_sink("sums", SUMS, numbers)
    source = builder.add_source("passing", passing)
    builder.add_sink("passed", Topic("passed", TEXT, INT64, nulls="pass"), source)
    words = builder.add_processor("split", flat_map(_split), builder.add_source("keyless", keyless))
    edge = builder.repartition("by-word", words, key=TEXT, value=TEXT)
    builder.add_sink("totals", TOTALS, builder.add_processor("count", Count, edge, stores=[COUNTS]))
    bench.create(NUMBERS, passing, keyless)
    bench.emit(Topic("numbers", TEXT, INT64, nulls="pass"), [("a", None), ("a", 1)])
    bench.emit(passing, [("a", None), ("a", 1)])
    bench.emit(keyless, [(None, "x y"), (None, "x")])
    bench.run(builder.build())
    assert [row.value for row in bench.raw(SUMS)] == [INT64.serialize(1)]
    assert [row.value for row in bench.raw("passed")] == [None, INT64.serialize(1)]
    assert sorted(bench.records(TOTALS)) == [("x", 1), ("x", 2), ("y", 1)]
    assert sums(bench.reports) == {"null-value": 1}


def _split(key: None, line: str) -> list[tuple[str, str]]:
    return [(word, word) for word in line.split()]
