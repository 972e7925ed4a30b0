"""Loops in the test driver: batch after batch until no records are left, as on Spark."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import (
    INT64,
    TEXT,
    DeadLetter,
    Processor,
    ProcessorContext,
    Record,
    Topic,
    TopologyBuilder,
)
from kstreams.aggregators import count
from kstreams.durations import seconds
from kstreams.emit import once_per_batch
from kstreams.errors import LoopError
from kstreams.operators import aggregate, filter_, map_values, rekey
from kstreams.processors import BatchContext, BatchProcessor
from kstreams.stores import timestamped_store, window_store
from kstreams.testing import TopologyTestDriver
from kstreams.topology import OnError, Topology
from kstreams.windows import (
    Late,
    TumblingWindows,
    split_late,
    windowed,
    windowed_aggregate,
)
from tests.support.topologies.looped_walks import IN, KEYS, OUT, TOTALS, Walk, visits, walking

walks = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 8)), max_size=12)


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(
    batches=st.lists(walks, max_size=3),
    partitions=st.integers(1, 4),
    behind_edge=st.booleans(),
    recreate=st.booleans(),
)
def test_each_hop_of_loop_is_counted_once(
    batches: list[list[tuple[str, int]]], partitions: int, behind_edge: bool, recreate: bool
) -> None:
    topology = walking(behind_edge=behind_edge)
    with TopologyTestDriver(
        topology, partitions=partitions, recreate_processors=recreate
    ) as driver:
        for batch in batches:
            driver.pipe_batch(IN, [Record(key, steps, 5) for key, steps in batch])
        expected = visits([walk for batch in batches for walk in batch])
        assert driver.store_contents(TOTALS) == expected
        assert Counter(record.key for record in driver.read(OUT)) == expected


@pytest.mark.parametrize("behind_edge", [False, True])
def test_too_many_hops_fail_batch_and_error_names_loop_and_key(behind_edge: bool) -> None:
    with TopologyTestDriver(walking(3, behind_edge=behind_edge), partitions=2) as driver:
        driver.pipe(IN, "k0", 3)
        with pytest.raises(
            LoopError, match=r"loop 'again' 3 times, and a result would exceed"
        ) as caught:
            driver.pipe(IN, "k1", 4)
        assert caught.value.where.target == "again"
        assert "the result has key 'k5'" in caught.value.message
        # the previous batch is committed
        assert sum(driver.store_contents(TOTALS).values()) == 4 + 3


@pytest.mark.parametrize("policy", ["skip", DeadLetter("failed")])
def test_too_many_hops_follow_policy_and_earlier_effects_are_kept(policy: OnError) -> None:
    with TopologyTestDriver(walking(3, policy), partitions=2) as driver:
        driver.pipe_batch(IN, [Record("k0", 5, 1), Record("k3", 2, 1)])

        assert driver.store_contents(TOTALS) == visits([("k0", 3), ("k3", 2)])
        reason = "skipped" if policy == "skip" else "dead-letter"
        assert driver.dropped == {f"{reason}-LoopError": 1}
        letters = driver.read_rows("failed")
        assert [letter.key for letter in letters] == ([] if policy == "skip" else [b"k4"])


def test_loop_forwards_headers_without_hop_count() -> None:
    with TopologyTestDriver(walking()) as driver:
        driver.write(IN, "k0", 2, headers=(("trace", b"1"),))
        driver.run()

        assert [record.headers for record in driver.read(OUT)] == [(("trace", b"1"),)] * 3


def test_failed_batch_reads_its_loop_again() -> None:
    with TopologyTestDriver(walking(3), partitions=2) as driver:
        for _ in range(3):
            with pytest.raises(LoopError):
                driver.pipe(IN, "k0", 4) if not driver.store_contents(TOTALS) else driver.run()
            assert sum(driver.store_contents(TOTALS).values()) == 3


class Forward(BatchProcessor[str, int, str, int]):
    def init(self, context: BatchContext) -> None:
        self.context = context

    def process_batch(self, table: Any) -> None:
        self.context.forward(table)


@pytest.mark.parametrize("policy", ["fail", "skip", DeadLetter("failed")])
@pytest.mark.parametrize("kind", ["tables", "held"])
def test_hops_are_limited_for_tables_and_results_at_end_of_batch(
    kind: str, policy: OnError
) -> None:
    builder = TopologyBuilder("endless", on_error=policy)
    again = builder.add_loop("again", key=TEXT, value=INT64, max_hops=10)
    source = builder.add_source("in", IN)
    node: Any
    if kind == "tables":
        node = builder.add_processor("all", Forward, source, again)
    else:
        store = timestamped_store("counts", key=TEXT, value=INT64)
        supplier = aggregate(count(), store=store, emit=once_per_batch())
        node = builder.add_processor("all", supplier, source, again)
    builder.close_loop(again, node)
    builder.add_sink("out", OUT, node)
    with TopologyTestDriver(builder.build(), partitions=2) as driver:
        if policy == "fail":
            with pytest.raises(LoopError, match=r"loop 'again' 10 times, and"):
                driver.pipe(IN, "a", 1)
            return
        driver.pipe(IN, "a", 1)
        assert len(driver.read(OUT)) == 11
        assert sum(driver.dropped.values()) == 1
        assert len(driver.read_rows("failed")) == (policy != "skip")


def test_order_of_each_upstream_task_and_key_is_kept() -> None:
    builder = TopologyBuilder("order")
    again = builder.add_loop("again", key=TEXT, value=INT64)
    source = builder.add_source("in", IN)
    builder.close_loop(
        again, builder.add_processor("one", rekey(lambda _k, n: f"k{n % 3}"), source)
    )
    builder.add_sink("out", OUT, again)
    with TopologyTestDriver(builder.build(), partitions=3) as driver:
        driver.pipe_batch(IN, [Record("a", n, 100 - n % 7) for n in range(60)])
        found = [(record.key, record.value) for record in driver.read(OUT)]

    for key in ("k0", "k1", "k2"):
        own = [value for found_key, value in found if found_key == key]
        assert own == sorted(own)
        assert len(own) == 20


def windowed_twice(grace: int) -> Topology:
    """Return a topology that counts records before and after one hop in windows."""
    window = TumblingWindows(seconds(10), grace=seconds(grace))
    builder = TopologyBuilder("windows")
    again = builder.add_loop("again", key=TEXT, value=INT64)
    source = builder.add_source("in", IN)
    odd = builder.add_processor("odd", filter_(lambda _, n: n % 2 == 1), source)
    builder.close_loop(again, odd)
    store = window_store("w", key=TEXT, value=INT64)
    supplier = windowed_aggregate(window, count(), store=store)
    results, late = split_late(builder, "w", supplier, source, again)
    builder.add_sink("results", Topic("results", windowed(TEXT, window), INT64), results)
    builder.add_sink("late", LATE, builder.add_processor("values", map_values(_value), late))
    return builder.build()


LATE = Topic("late", TEXT, INT64)


def _value(late: Late[int]) -> int:
    return late.value


@pytest.mark.parametrize(("grace", "counted"), [(0, 1), (60, 2)])
def test_records_of_loop_are_late_for_closed_windows(grace: int, counted: int) -> None:
    topology = windowed_twice(grace)
    with TopologyTestDriver(topology) as driver:
        driver.pipe_batch(IN, [Record("a", 1, 1_000), Record("b", 2, 25_000)])

        results = driver.read_rows("results")
        assert [INT64.deserialize(r.value or b"") for r in results if b"a" in (r.key or b"")] == [
            *range(1, counted + 1)
        ]
        late = [record.value for record in driver.read(LATE)]
        assert late == ([] if counted == 2 else [1])
        assert driver.dropped.get("late", 0) == len(late)


@pytest.mark.parametrize("policy", ["fail", "skip"])
def test_records_of_loop_do_not_advance_stream_time(policy: OnError) -> None:
    seen: list[tuple[str, int, int]] = []

    class Seen(Processor[str, int, str, int]):
        def init(self, context: ProcessorContext[str, int]) -> None:
            self.context = context

        def process(self, record: Record[str, int]) -> None:
            seen.append((record.key, record.timestamp, self.context.stream_time))
            if record.key == "a":
                self.context.forward(Record("b", record.value, record.timestamp + 1_000))

    builder = TopologyBuilder("times", on_error=policy)
    again = builder.add_loop("again", key=TEXT, value=INT64)
    source = builder.add_source("in", IN)
    builder.close_loop(again, builder.add_processor("seen", Seen, source, again))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(IN, "a", 1, timestamp=10)
        assert seen == [("a", 10, 10), ("b", 1_010, 10)]
        assert driver.stream_time("in") == 10


def test_records_of_loop_advance_stream_time_of_group_without_other_input() -> None:
    builder = TopologyBuilder("alone")
    again = builder.add_loop("again", key=TEXT, value=INT64)
    source = builder.add_source("in", IN)
    builder.close_loop(again, builder.add_processor("next", rekey(lambda key, _: key), source))
    builder.add_processor("walk", Walk, again, stores=[TOTALS])
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(IN, "k0", 1, timestamp=10)

        assert (driver.stream_time("in"), driver.stream_time("again")) == (10, 10)
