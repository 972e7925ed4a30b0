"""Wall-clock timers, and hundreds of batches, on Spark fakes with both operators."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder
from kstreams.aggregators import count
from kstreams.emit import on_close, suppress, until_time_limit
from kstreams.frames import Operator, transform_frames
from kstreams.partitioner import partition_of
from kstreams.state.backend.memory import Memory
from kstreams.state.log.directory import Directory
from kstreams.stores import buffer_store, window_store
from kstreams.testing import TopologyTestDriver
from kstreams.windows import windowed_aggregate
from tests.support.fake_spark.frames import PlayedSession, rows_table
from tests.support.fake_spark.query import PlayedQuery, new_process
from tests.support.topologies.frame_topologies import (
    CLOSED,
    COUNTS,
    RELEASED,
    TUMBLING,
    WORDS,
    ticking,
    windowed_count,
)

pytestmark = pytest.mark.slow

OPERATORS: tuple[Operator, ...] = ("transform-with-state", "group-state")
Batch = tuple[int, list[tuple[str, int]]]
"""Wall time of a batch, and its words with their times, in ms."""


def idle_count() -> Topology:
    """Return a topology: words -> counts by window, closed after 100 ms without a word."""
    builder = TopologyBuilder("idle-count", idle_timeout=timedelta(milliseconds=100))
    store = window_store("by-window", key=TEXT, value=INT64)
    counting = windowed_aggregate(TUMBLING, count(), store=store, emit=on_close())
    words = builder.add_source("words", WORDS)
    builder.add_sink("closed", CLOSED, builder.add_processor("count", counting, words))
    return builder.build()


def suppressed() -> Topology:
    """Return a topology: words -> words suppressed for 10 ms of stream time."""
    builder = TopologyBuilder("suppressed", idle_timeout=timedelta(milliseconds=100))
    store = buffer_store("held", key=TEXT, value=TEXT)
    until = suppress(until_time_limit(timedelta(milliseconds=10)), store=store)
    held = builder.add_processor("held", until, builder.add_source("words", WORDS))
    builder.add_sink("released", RELEASED, held)
    return builder.build()


def start(
    query: PlayedQuery, topology: Topology, home: Path, operator: Operator, *, timers: bool = False
) -> None:
    """Start a query in a new process."""
    new_process()
    results = transform_frames(
        topology,
        {WORDS: PlayedSession().stream(WORDS.name)},
        state=Memory(directory=str(home / "local"), log=Directory(str(home / "log"))),
        tasks=2,
        operator=operator,
        timers=timers,
        packages=(),
    )
    query.start(results.with_dropped)


def rows(words: list[tuple[str, int]]) -> dict[str, Any]:
    if not words:
        return {}
    made = [
        {"timestamp": time, "key": word.encode(), "value": word.encode()} for word, time in words
    ]
    return {WORDS.name: rows_table(made)}


def on_driver(
    topology: Topology, sink: Topic[Any, Any], batches: list[Batch]
) -> list[list[tuple[Any, Any]]]:
    found = []
    with TopologyTestDriver(topology, partitions=2) as driver:
        for wall_ms, words in batches:
            passed = timedelta(milliseconds=wall_ms - driver.clock.now_ms())
            if words:
                driver.clock.advance(passed)
            else:
                driver.advance_wall_clock(passed)
            for word, time in words:
                data = word.encode()
                place = partition_of(data, 2)
                driver.write_bytes(WORDS.name, data, data, timestamp=time, partition=place)
            driver.run()
            found.append(sorted(((r.key, r.value) for r in driver.read(sink)), key=repr))
    return found


IDLE: list[Batch] = [
    (0, [("a", 1), ("b", 3), ("c", 4)]),
    (50, []),
    (151, []),
    (160, [("a", 300)]),
    (290, []),
    (420, []),
]
HELD: list[Batch] = [(0, [("a", 100), ("c", 101)]), (50, []), (150, []), (160, [("c", 190)])]
TICKS: list[Batch] = [(0, [("a", 1)]), (101, []), (150, []), (202, [("b", 2)]), (420, [])]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    ("make", "sink", "batches"),
    [(idle_count, CLOSED, IDLE), (ticking, COUNTS, TICKS), (suppressed, RELEASED, HELD)],
    ids=["idle", "punctuators", "suppress"],
)
def test_wall_clock_timers_give_results_of_test_driver(
    make: Any, sink: Topic[Any, Any], batches: list[Batch], operator: Operator, tmp_path: Path
) -> None:
    """Timers survive the process that set them, and a retried batch keeps its wall time."""
    query = PlayedQuery()
    for number, (wall_ms, words) in enumerate(batches):
        if words:  # a new process has not observed idleness yet
            start(query, make(), tmp_path, operator, timers=True)

        def die(moment: str, *, at: str = ("written", "state committed")[number % 2]) -> None:
            if moment == at:
                raise ConnectionError(moment)

        with pytest.raises(ConnectionError):
            query.batch(rows(words), wall_ms, die)
        query.batch({}, wall_ms + 1_000)  # retried with its first wall time
    found = []
    for number in range(query.batches):
        table = query.written[number]
        given = [] if table is None else table.to_pylist()
        shown = [
            (sink.key.deserialize(r["key"]), sink.value.deserialize(r["value"])) for r in given
        ]
        found.append(sorted(shown, key=repr))
    expected = on_driver(make(), sink, batches)
    assert found == expected
    assert sum(map(bool, expected)) > 1


@pytest.mark.long
@pytest.mark.parametrize("operator", OPERATORS)
def test_number_of_objects_is_bounded_through_three_hundred_batches(
    operator: Operator, tmp_path: Path
) -> None:
    """Batches are twelve minutes of wall time apart; the query is restarted every forty."""
    query, peaks = PlayedQuery(), [0] * 6
    log = Directory(str(tmp_path / "log")).open()
    for number in range(300):
        if number % 40 == 0:
            start(query, windowed_count(), tmp_path, operator)
        time = 10 * number
        query.batch(rows([("a", time), ("b", time + 1), ("c", time + 2)]), 720_000 * number)
        if number % 10 == 9:
            peaks[number // 50] = max(peaks[number // 50], len(list(log.list(""))))
    before, last = peaks[
        -2:
    ]  # by then the retained batches are complete, and a sweep runs every 50 batches
    retained, every, tasks = 100, 50, 2
    assert last <= before * 1.05
    assert last <= tasks * (retained + 3 * every) * 1.25
