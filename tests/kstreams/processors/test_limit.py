"""`limit` passes exactly the first records, after any node and with any number of tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import INT64, TEXT, Node, Record, Topic, TopologyBuilder
from kstreams.aggregators import count, sum_
from kstreams.durations import milliseconds
from kstreams.emit import each_update, on_close
from kstreams.errors import TopologyError
from kstreams.operators import (
    aggregate,
    call_async,
    filter_,
    flat_map_values,
    limit,
    map_values,
    peek,
    rekey,
)
from kstreams.processors.columns import Execution
from kstreams.stores import timestamped_store, window_store
from kstreams.testing import TopologyTestDriver
from kstreams.topology import DeadLetter
from kstreams.windows import TumblingWindows, windowed_aggregate

NUMBERS = Topic("numbers", TEXT, INT64)
OTHERS = Topic("others", TEXT, INT64)
OUT = Topic("out", TEXT, INT64)
SIDE = Topic("side", TEXT, INT64)
TOTALS = timestamped_store("totals", key=TEXT, value=INT64)
SECOND = timestamped_store("second", key=TEXT, value=INT64)

Numbers = Node[str, int]
Above = Callable[[TopologyBuilder, Numbers], Numbers]


async def tenfold(record: Record[str, int]) -> int:
    await asyncio.sleep(0)
    return record.value * 10


def source(_: TopologyBuilder, node: Numbers) -> Numbers:
    return node


def even(builder: TopologyBuilder, node: Numbers) -> Numbers:
    return builder.add_processor("even", filter_(lambda _, value: value % 2 == 0), node)


def doubled(builder: TopologyBuilder, node: Numbers) -> Numbers:
    return builder.add_processor("doubled", map_values(lambda value: value * 2), node)


def thrice(builder: TopologyBuilder, node: Numbers) -> Numbers:
    return builder.add_processor("thrice", flat_map_values(lambda value: [value] * 3), node)


def folded(builder: TopologyBuilder, node: Numbers) -> Numbers:
    summed = aggregate(sum_(INT64), store=TOTALS, emit=each_update())
    return builder.add_processor("folded", summed, node)


def twice_folded(builder: TopologyBuilder, node: Numbers) -> Numbers:
    counted = aggregate(count(), store=SECOND, emit=each_update())
    return builder.add_processor("counted", counted, folded(builder, node))


def mapped_after_a_fold(builder: TopologyBuilder, node: Numbers) -> Numbers:
    return doubled(builder, folded(builder, node))


def asked(builder: TopologyBuilder, node: Numbers) -> Numbers:
    return builder.add_processor("asked", call_async(tenfold, at_once=8), node)


def repartitioned(builder: TopologyBuilder, node: Numbers) -> Numbers:
    keyed = builder.add_processor("keyed", rekey(lambda _, value: f"n{value}"), node)
    return builder.repartition("edge", keyed, key=TEXT, value=INT64)


NODES: Sequence[Above] = (
    source,
    even,
    doubled,
    thrice,
    folded,
    twice_folded,
    mapped_after_a_fold,
    asked,
    repartitioned,
)


def app(above: Above, at_most: int | None) -> TopologyBuilder:
    builder = TopologyBuilder("app")
    node = above(builder, builder.add_source("numbers", NUMBERS))
    if at_most is not None:
        node = builder.add_processor("first", limit(at_most), node)
    builder.add_sink("out", OUT, node)
    return builder


def run(
    builder: TopologyBuilder, values: Sequence[int], *, partitions: int = 1, batches: int = 1
) -> tuple[list[int], bool]:
    """Return the values that reach the sink, and whether the run ended."""
    with TopologyTestDriver(builder.build(), partitions=partitions) as driver:
        for batch in range(batches):
            for place, value in enumerate(values[batch::batches]):
                driver.write(NUMBERS, f"k{value}", value, partition=place % partitions)
            driver.run()
        return [record.value for record in driver.read(OUT)], driver.finished


def ended(driver: TopologyTestDriver) -> bool:
    """Return whether a run would end now; a function, because type checkers narrow attributes."""
    return driver.finished


@pytest.mark.parametrize("above", NODES)
def test_limit_passes_the_first_results_of_any_node(above: Above) -> None:
    every, _ = run(app(above, None), range(20))
    assert run(app(above, 7), range(20)) == (every[:7], True)


@pytest.mark.parametrize("above", [node for node in NODES if "fold" not in node.__name__])
@pytest.mark.parametrize("batches", [1, 3])
def test_limit_is_shared_exactly_by_tasks(above: Above, batches: int) -> None:
    every, _ = run(app(above, None), range(40), partitions=4, batches=batches)
    found, finished = run(app(above, 11), range(40), partitions=4, batches=batches)
    assert (len(found), finished) == (11, True)
    assert not set(found) - set(every)


def test_limit_above_number_of_records_passes_all() -> None:
    assert run(app(even, 10), range(19)) == (list(range(0, 19, 2)), True)
    assert run(app(even, 10), range(18)) == (list(range(0, 18, 2)), False)


@given(
    records=st.lists(st.integers(0, 3), max_size=40),
    at_most=st.integers(1, 30),
    partitions=st.integers(1, 4),
    batches=st.integers(1, 4),
)
def test_limit_of_several_tasks_passes_exactly_the_limit(
    records: list[int], at_most: int, partitions: int, batches: int
) -> None:
    """Each task passes a prefix of its records; together they pass exactly the limit."""
    builder = app(source, at_most)
    with TopologyTestDriver(builder.build(), partitions=partitions, check_keys=False) as driver:
        written: dict[int, list[int]] = {}
        for batch in range(batches):
            for number in range(batch, len(records), batches):
                partition = records[number] % partitions
                written.setdefault(partition, []).append(number)
                driver.write(NUMBERS, str(partition), number, partition=partition)
            driver.run()
        found: dict[int, list[int]] = {}
        for record in driver.read(OUT):
            found.setdefault(int(record.key), []).append(record.value)
        assert sum(map(len, found.values())) == min(at_most, len(records))
        for partition, values in found.items():
            assert values == written[partition][: len(values)]
        assert driver.finished == (len(records) >= at_most)


def test_limit_after_windowed_aggregation_passes_first_windows() -> None:
    builder = TopologyBuilder("app")
    node = builder.add_source("numbers", NUMBERS)
    windows = TumblingWindows(milliseconds(10))
    store = window_store("windows", key=TEXT, value=INT64)
    counted = windowed_aggregate(windows, count(), store=store, emit=on_close())
    closed = builder.add_processor("counted", counted, node)
    plain = builder.add_processor("key", rekey(lambda window, _: window.key), closed)
    builder.add_sink("out", OUT, builder.add_processor("first", limit(2), plain))
    with TopologyTestDriver(builder.build()) as driver:
        for time in range(0, 100, 5):
            driver.write(NUMBERS, "k", 1, timestamp=time)
        driver.run()
        assert [record.timestamp for record in driver.read(OUT)] == [5, 15]
        assert driver.finished


@pytest.mark.parametrize("execution", ["records", "columns"])
def test_limit_after_fold_gives_same_results_and_state_by_records_and_by_columns(
    execution: Execution,
) -> None:
    builder = TopologyBuilder("app")
    node = builder.add_source("numbers", NUMBERS)
    counted = aggregate(count(), store=TOTALS, execution=execution)
    node = builder.add_processor("counted", counted, node)
    builder.add_sink("out", OUT, builder.add_processor("first", limit(3), node))
    with TopologyTestDriver(builder.build()) as driver:
        for batch in range(3):
            driver.pipe_batch(NUMBERS, [Record(f"k{n % (batch + 2)}", n, n) for n in range(8)])
        results = [(record.key, record.value) for record in driver.read(OUT)]
        assert results == [("k0", 4), ("k1", 4), ("k0", 7)]
        assert driver.store_contents(TOTALS) == {"k0": (7, 6), "k1": (7, 7), "k2": (2, 5)}
        assert driver.totals.nodes["numbers"].held == 0
        assert driver.finished


def test_limits_of_two_branches_end_run_when_both_are_reached() -> None:
    builder = TopologyBuilder("app")
    node = builder.add_source("numbers", NUMBERS)
    for name, at_most, topic in (("few", 2, OUT), ("many", 5, SIDE)):
        builder.add_sink(f"{name}-out", topic, builder.add_processor(name, limit(at_most), node))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe_batch(NUMBERS, [Record("k", value, 0) for value in range(4)])
        assert not ended(driver)
        driver.pipe_batch(NUMBERS, [Record("k", value, 0) for value in range(4, 9)])
        assert ended(driver)
        assert [record.value for record in driver.read(OUT)] == [0, 1]
        assert [record.value for record in driver.read(SIDE)] == [0, 1, 2, 3, 4]


def test_limit_of_one_branch_does_not_end_run() -> None:
    builder = TopologyBuilder("app")
    node = builder.add_source("numbers", NUMBERS)
    builder.add_sink("out", OUT, builder.add_processor("first", limit(1), node))
    builder.add_sink("side", SIDE, node)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe_batch(NUMBERS, [Record("k", value, 0) for value in range(4)])
        assert not driver.finished
        assert len(driver.read(OUT)) == 1
        assert len(driver.read(SIDE)) == 4


def test_limit_stops_task_at_record_that_reaches_it() -> None:
    seen: list[int] = []
    builder = TopologyBuilder("app")
    node = builder.add_source("numbers", NUMBERS)
    noted = builder.add_processor("noted", peek(lambda _, value: seen.append(value)), node)
    builder.add_sink("out", OUT, builder.add_processor("first", limit(3), noted))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe_batch(NUMBERS, [Record("k", value, 0) for value in range(10)])
        assert seen == [0, 1, 2]
        counts = driver.totals.nodes["numbers"]
        assert (counts.records_in, counts.records_out, counts.held) == (10, 3, 7)


def test_limit_leaves_later_records_undecoded() -> None:
    builder = TopologyBuilder("app")
    node = builder.add_source("numbers", NUMBERS)
    builder.add_sink("out", OUT, builder.add_processor("first", limit(2), node))
    with TopologyTestDriver(builder.build()) as driver:
        for value in range(2):
            driver.write(NUMBERS, "k", value)
        driver.write_bytes("numbers", b"k", b"no number", timestamp=0)
        driver.write_bytes("numbers", b"k", None, timestamp=0)
        driver.run()
        assert len(driver.read(OUT)) == 2
        assert driver.dropped == {}


def test_limit_does_not_count_failed_record() -> None:
    builder = TopologyBuilder("app", on_error=DeadLetter("letters"))
    node = builder.add_source("numbers", NUMBERS)
    first = builder.add_processor("first", limit(3), node)
    inverse = builder.add_processor("inverse", map_values(lambda value: 6 // value), first)
    builder.add_sink("out", OUT, inverse)
    values = [0, 1, 0, 2, 3, 6]
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe_batch(NUMBERS, [Record("k", value, 0) for value in values])
        assert [record.value for record in driver.read(OUT)] == [6, 3, 2]
        assert driver.finished


def test_limit_ends_one_source_and_other_source_continues() -> None:
    builder = TopologyBuilder("app")
    numbers = builder.add_source("numbers", NUMBERS)
    others = builder.add_source("others", OTHERS)
    first = builder.add_processor("first", limit(1), numbers)
    builder.add_sink("out", OUT, first, others)
    with TopologyTestDriver(builder.build()) as driver:
        for value in range(3):
            driver.pipe(NUMBERS, "n", value)
            driver.pipe(OTHERS, "o", value)
        assert [record.key for record in driver.read(OUT)] == ["n", "o", "o", "o"]
        assert not driver.finished


@pytest.mark.parametrize("at_most", [0, -1, 2.5, True, "3", None])
def test_limit_rejects_invalid_number_of_records(at_most: object) -> None:
    with pytest.raises(TopologyError, match="expected a number of records") as caught:
        limit(at_most)  # type: ignore[arg-type]  # the invalid argument
    assert "1 or more" in caught.value.hint
