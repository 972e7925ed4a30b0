"""Event times from values: tasks hold back records that are too early to process."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder, key_value_store
from kstreams.operators import map_
from kstreams.record import Record
from kstreams.state.log.topic_counts import TopicCounts
from kstreams.task.times.holding import passed
from tests.support.apps.one_query import WholeQuery

A, B = Topic("a", TEXT, INT64), Topic("b", TEXT, INT64)
OUT = Topic("out", TEXT, TEXT)
SEEN = key_value_store("seen", key=TEXT, value=INT64)
ARRIVAL = 1_700_000_000_000
"""The timestamp of all records in their topics; it is not their event time."""


def own_time(record: Record[str, int]) -> int | None:
    return record.value if record.value >= 0 else None


def in_order(*, settle: timedelta = timedelta(0)) -> Topology:
    """Write down the order in which records are processed."""
    builder = TopologyBuilder("in-order", settle=settle)
    sources = [
        builder.add_source(
            topic.name, topic, event_time=own_time, invalid_time="skip", max_ahead=None
        )
        for topic in (A, B)
    ]
    noted = builder.add_processor(
        "note", map_(lambda key, value: (key, str(value))), *sources, stores=[SEEN]
    )
    builder.add_sink("out", OUT, noted)
    return builder.build()


def append(query: WholeQuery, topic: str, times: list[int], partition: int = 0) -> None:
    log = query.connection.log()
    if times:
        first = log.end_offset(topic, partition)
        table = pa.table(
            {
                "timestamp": pa.array([ARRIVAL] * len(times), pa.int64()),
                "key": pa.array(
                    [f"{topic}{first + n}".encode() for n in range(len(times))], pa.binary()
                ),
                "value": pa.array([INT64.serialize(time) for time in times], pa.binary()),
            }
        )
        log.append(topic, partition, table, producer=f"{topic}/{partition}", batch=first)


def merged(times: dict[str, list[int]]) -> list[str]:
    """Return the keys of records with an event time, in the order of one large batch."""
    found = []
    for rank, topic in enumerate(sorted(times)):
        highest = -1
        for n, time in enumerate(times[topic]):
            if time >= 0:
                highest = max(highest, time)
                found.append((highest, rank, n, f"{topic}{n}"))
    return [key for *_, key in sorted(found)]


def processed(query: WholeQuery) -> list[str]:
    return [record.key.decode() for record in query.published("out") if record.key is not None]


def check_topics(query: WholeQuery, times: dict[str, list[int]]) -> None:
    """Assert that each record is counted once for its topic, however often it is read."""
    last = query.driver.last
    totals = None if last is None else last.totals
    topics = {} if totals is None else totals.topics
    for topic, each in times.items():
        size = sum(len(f"{topic}{n}") + 8 for n in range(len(each)))
        found = topics.get(topic, TopicCounts())
        assert (found.records_in, found.bytes_in) == (len(each), size)
    written = query.published("out")
    sizes = [len(record.key or b"") + len(record.value or b"") for record in written]
    out = topics.get("out", TopicCounts())
    assert (out.records_out, out.bytes_out) == (len(sizes), sum(sizes))


def test_bulk_loaded_topic_is_processed_before_younger_records(tmp_path: Path) -> None:
    query = WholeQuery(tmp_path, in_order(), most=100)
    times = {"a": list(range(5_000, 7_000, 2)), "b": list(range(1_000, 1_400))}
    for topic, each in times.items():
        append(query, topic, each)
    query.start()
    query.run()
    assert processed(query) == merged(times)
    assert max(plan.record_count for plan in query.plans) <= 100
    read = sum(plan.record_count for plan in query.plans)
    assert read <= 1.5 * 1_400  # held-back records are read again now and then
    assert sum(report.source_records for report in query.reports) == 1_400
    check_topics(query, times)


@pytest.mark.long
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_event_time_order_does_not_depend_on_batch_boundaries_restarts_or_crashes(
    data: st.DataObject,
) -> None:
    span = data.draw(st.sampled_from([2, 40, 100_000]))
    times = {
        topic: data.draw(st.lists(st.integers(-1, span), max_size=40), label=topic)
        for topic in "ab"
    }
    with TemporaryDirectory() as home:
        query = WholeQuery(Path(home), in_order(), most=data.draw(st.integers(2, 20)))
        for topic, each in times.items():
            append(query, topic, each)
        query.start()
        chance = Random(data.draw(st.integers(0, 99)))
        while query.batch(dies=chance.random() < 0.2):
            if chance.random() < 0.2:
                query.start()
        assert processed(query) == merged(times)
        check_topics(query, times)
        timeless = sum(time < 0 for each in times.values() for time in each)
        assert query.dropped().get("no-event-time", 0) == timeless
        end = query.driver.end()
        assert query.driver.planner.reached(end)


def test_batch_refused_for_size_is_processed_in_order_of_time(tmp_path: Path) -> None:
    query = WholeQuery(tmp_path, in_order(), most=10_000, max_bytes=8_000)
    times = {"a": list(range(0, 400, 2)), "b": list(range(1, 201))}
    for topic, each in times.items():
        append(query, topic, each)
    query.start()
    query.run()
    assert processed(query) == merged(times)
    assert len(query.plans) >= 3


def test_young_record_is_processed_after_settle_time_without_batch_for_each_poll(
    tmp_path: Path,
) -> None:
    query = WholeQuery(tmp_path, in_order(settle=timedelta(seconds=2)))
    now = query.clock.now_ms()
    append(query, "a", [now - 3_000, now - 1_000])
    query.start()
    query.run()
    assert processed(query) == ["a0"]
    batches = len(query.plans)
    for _ in range(5):
        query.clock.advance(timedelta(milliseconds=100))
        query.run()
    assert len(query.plans) == batches
    append(query, "b", [now - 1_500])
    query.clock.advance(timedelta(seconds=1))
    query.run()
    assert processed(query) == ["a0", "b0", "a1"]


def test_run_to_end_does_not_wait_for_settle_time(tmp_path: Path) -> None:
    query = WholeQuery(tmp_path, in_order(settle=timedelta(hours=2)))
    append(query, "a", [query.clock.now_ms()])
    query.start()
    assert query.batch(until=query.driver.end())
    assert processed(query) == ["a0"]


TIMES = st.lists(st.integers(0, 9), max_size=12).map(
    lambda found: np.maximum.accumulate(np.array(found, np.int64))
)


@given(st.lists(st.tuples(TIMES, st.booleans()), min_size=1, max_size=4))
def test_rows_that_no_unread_row_can_precede_are_processed(
    queues: list[tuple[np.ndarray[tuple[int], np.dtype[np.int64]], bool]],
) -> None:
    times, more = [each for each, _ in queues], [is_open for _, is_open in queues]
    counts = passed(times, more)
    full = [len(t) if n is None else n for t, n in zip(times, counts, strict=True)]
    bounds = [(int(each[-1]), n) for n, each in enumerate(times) if more[n] and len(each)]
    for number, each in enumerate(times):
        for row, time in enumerate(each.tolist()):
            waits = any((time, number) > bound for bound in bounds)
            assert waits == (row >= full[number])
    assert not bounds or any(full[n] == len(times[n]) for _, n in bounds)


@pytest.mark.parametrize(("before", "expected"), [(0, [0, 0]), (5, [1, None]), (99, [None, None])])
def test_rows_younger_than_settle_time_are_not_processed(
    before: int, expected: list[int | None]
) -> None:
    times = [np.array([1, 5, 6]), np.array([2, 3])]
    assert passed(times, [False, False], before) == expected
