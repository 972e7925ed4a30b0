"""Joins of a stream with past versions of a table, compared with a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kstreams import TEXT, Topic, TopologyBuilder, timestamped_store
from kstreams.durations import milliseconds, seconds
from kstreams.errors import TopologyError
from kstreams.graph.topology import Topology
from kstreams.joins import inner, left, outer
from kstreams.processors.columns import Execution
from kstreams.stores import queue_store, versioned_key_value_store
from kstreams.testing import TopologyTestDriver
from tests.kstreams.joins.streams.test_stream_join import streams
from tests.support.models.stream_join_models import InputRecord, Out, bag, pair

STREAM = Topic("left", TEXT, TEXT, nulls="pass", null_keys="pass")
ROWS = Topic("right", TEXT, TEXT)
OUT = Topic("out", TEXT, TEXT)
RETENTION = 20
HISTORY = versioned_key_value_store(
    "history", key=TEXT, value=TEXT, retention=milliseconds(RETENTION)
)
WAITING = queue_store("waiting", key=TEXT, value=TEXT)
MAKERS: dict[str, Any] = {"inner": inner(pair), "left": left(pair), "outer": outer(pair)}


def topology(
    how: str,
    grace: int,
    idle_timeout: timedelta | None = None,
    execution: Execution = "auto",
    *,
    derived: bool = False,
) -> Topology:
    builder = TopologyBuilder("as-of", idle_timeout=idle_timeout)
    stream: Any = builder.add_source("stream", STREAM)
    table = builder.add_table("table", ROWS, store=HISTORY)
    if derived:
        table = builder.derive("derived", table, lambda _, value: odd(value))
    joined = builder.join_as_of(
        "joined",
        stream,
        table,
        MAKERS[how],
        grace=milliseconds(grace),
        waiting=WAITING,
        execution=execution,
    )
    builder.add_sink("out", OUT, joined)
    return builder.build()


def odd(value: str) -> str | None:
    """Drop values with an even number, and change odd ones."""
    return f"{value}!" if int(value[1:]) % 2 else None


def each(driver: TopologyTestDriver, records: Iterable[InputRecord]) -> list[list[Out]]:
    steps = []
    for side, key, value, time in records:
        write(driver, side, key, value, time)
        driver.run()
        steps.append(read_results(driver))
    return steps


def write(
    driver: TopologyTestDriver, side: int, key: str | None, value: str | None, time: int
) -> None:
    data = None if value is None else value.encode()
    topic = ROWS.name if side else STREAM.name
    driver.write_bytes(topic, None if key is None else key.encode(), data, timestamp=time)


def read_results(driver: TopologyTestDriver) -> list[Out]:
    return [(r.key, str(r.value), r.timestamp) for r in driver.read(OUT)]


class Model:
    """Versions by key and time, and records that wait until stream time passes the grace."""

    def __init__(self, how: str, grace: int, *, derived: bool = False) -> None:
        self.how, self.grace, self.derived = how, grace, derived
        self.versions: dict[str, dict[int, str | None]] = {}
        self.observed: int | None = None
        self.newest = -(10**9)
        self.waiting: list[tuple[int, int, str, str]] = []
        self.dropped: Counter[str] = Counter()

    def step(self, record: InputRecord) -> list[Out]:
        side, key, value, time = record
        if side:
            self._row(key, value, time)
            return []
        if value is None or (key is None and self.how == "inner"):
            self.dropped["null-value" if value is None else "null-key"] += 1
            return []
        if key is None:
            return [(key, pair(value, None), time)]
        if time < self.newest - self.grace:
            return self._joined(key, value, time)
        self.newest = max(self.newest, time)
        self.waiting.append(
            (time, len(self.waiting) + 1000 * sum(self.dropped.values()), key, value)
        )
        self.waiting.sort(key=lambda row: row[0])
        due = [row for row in self.waiting if row[0] <= self.newest - self.grace]
        self.waiting = [row for row in self.waiting if row[0] > self.newest - self.grace]
        return [out for time, _, key, value in due for out in self._joined(key, value, time)]

    def _row(self, key: str | None, value: str | None, time: int) -> None:
        if key is None:
            self.dropped["null-key"] += 1
        elif self.observed is not None and time < self.observed - RETENTION:
            self.dropped["older-than-retention"] += 1
        else:
            self.observed = time if self.observed is None else max(self.observed, time)
            self.versions.setdefault(key, {})[time] = value

    def _joined(self, key: str, value: str, time: int) -> list[Out]:
        rows = self.versions.get(key, {})
        old = self.observed is not None and time < self.observed - RETENTION
        found = None
        if not (old and rows and max(rows) > time):
            known = [start for start in rows if start <= time]
            found = rows[max(known)] if known else None
        if found is None and old:
            self.dropped["no-history"] += 1
        if self.derived and found is not None:
            found = odd(found)
        if found is None and self.how == "inner":
            return []
        return [(key, pair(value, found), time)]


@settings(max_examples=60)
@given(
    how=st.sampled_from(["inner", "left"]),
    grace=st.integers(0, 12),
    records=streams(),
    execution=st.sampled_from(("records", "columns")),
    derived=st.booleans(),
)
def test_as_of_join_equals_model(
    how: str, grace: int, records: list[InputRecord], execution: Execution, derived: bool
) -> None:
    model = Model(how, grace, derived=derived)
    steps = [model.step(record) for record in records]
    made = topology(how, grace, execution=execution, derived=derived)
    with TopologyTestDriver(made) as driver:
        assert [bag(step) for step in each(driver, records)] == [bag(step) for step in steps]
        assert driver.dropped == +model.dropped


@pytest.mark.long
@settings(max_examples=100)
@example(how="inner", grace=1, records=[InputRecord(0, "a", "v0", -2)], cuts=set(), derived=False)
@given(
    how=st.sampled_from(["inner", "left"]),
    grace=st.integers(0, 12),
    records=streams(),
    cuts=st.sets(st.integers(0, 30)),
    derived=st.booleans(),
)
def test_as_of_join_gives_same_results_by_columns_and_records(
    how: str, grace: int, records: list[InputRecord], cuts: set[int], derived: bool
) -> None:
    found = []
    executions: tuple[Execution, ...] = ("records", "columns")
    for execution in executions:
        made = topology(how, grace, seconds(1), execution, derived=derived)
        with TopologyTestDriver(made) as driver:
            steps = []
            for place, record in enumerate(records):
                write(driver, *record)
                if place in cuts:
                    driver.run()
                    steps.append(read_results(driver))
            driver.advance_wall_clock(seconds(2))
            steps.append(read_results(driver))
            kept = list(driver.store(WAITING).fetch_all())
            driver.close_windows()
            found.append((steps, kept, read_results(driver), driver.dropped))
    assert found[0] == found[1]


BOTH = pytest.mark.parametrize("execution", ["records", "columns"])


@BOTH
def test_waiting_records_are_visible_and_released_in_order_of_time(execution: Execution) -> None:
    with TopologyTestDriver(topology("left", 10, execution=execution)) as driver:
        for time in (7, 3, 5):
            write(driver, 0, "a", f"v{time}", time)
        driver.run()
        assert [(key, r.value) for key, r in driver.store(WAITING).fetch_all()] == [
            ("a", "v3"),
            ("a", "v5"),
            ("a", "v7"),
        ]
        write(driver, 1, "a", "late", 4)
        write(driver, 0, "b", "v16", 16)
        driver.run()
        assert read_results(driver) == [("a", "v3+None", 3), ("a", "v5+late", 5)]


@BOTH
def test_waiting_records_of_equal_time_are_kept_across_batches(execution: Execution) -> None:
    with TopologyTestDriver(topology("left", 5, execution=execution)) as driver:
        for n in range(3):
            write(driver, 0, "a", f"v{n}", 1)
            driver.run()
        write(driver, 0, "a", "v9", 9)
        driver.run()
        assert read_results(driver) == [("a", f"v{n}+None", 1) for n in range(3)]


@BOTH
def test_waiting_records_are_released_after_idle_timeout_and_at_end(execution: Execution) -> None:
    with TopologyTestDriver(topology("left", 5, seconds(1), execution)) as driver:
        write(driver, 0, "a", "v", 1)
        write(driver, 1, "a", "row", 900)  # times of the table do not count
        driver.run()
        assert read_results(driver) == []
        driver.advance_wall_clock(seconds(2))
        assert read_results(driver) == [("a", "v+None", 1)]
        write(driver, 0, "a", "w", 3000)
        driver.run()
        assert read_results(driver) == []
        driver.close_windows()
        assert read_results(driver) == [("a", "w+row", 3000)]
        assert list(driver.store(WAITING).fetch_all()) == []


def test_join_as_of_rejects_table_without_history() -> None:
    builder = TopologyBuilder("t")
    stream = builder.add_source("stream", Topic("left", TEXT, TEXT))
    plain: Any = builder.add_table(
        "table", ROWS, store=timestamped_store("rows", key=TEXT, value=TEXT)
    )
    with pytest.raises(TopologyError, match="table 'table' is not versioned"):
        builder.join_as_of("j", stream, plain, left(pair), grace=seconds(1), waiting=WAITING)
    table = builder.add_table("history", ROWS, store=HISTORY)
    with pytest.raises(TopologyError, match="no outer join"):
        builder.join_as_of("j", stream, table, MAKERS["outer"], grace=seconds(1), waiting=WAITING)


@pytest.mark.parametrize("derived", [False, True], ids=["table", "derived"])
def test_join_as_of_rejects_grace_longer_than_retention(derived: bool) -> None:
    builder = TopologyBuilder("t")
    stream = builder.add_source("stream", Topic("left", TEXT, TEXT))
    table = builder.add_table("table", ROWS, store=HISTORY)
    if derived:
        table = builder.derive("derived", table, lambda _, value: value)
    grace = milliseconds(RETENTION + 1)
    builder.join_as_of("j", stream, table, left(pair), grace=grace, waiting=WAITING)
    with pytest.raises(TopologyError) as caught:
        builder.build()
    problem = (
        "node 'j': its grace is 21 ms, but store 'history' keeps versions for 20 ms: "
        "make the retention of the store at least as long as the grace"
    )
    assert caught.value.problems == (problem,)


def test_join_as_of_accepts_grace_equal_to_retention() -> None:
    with TopologyTestDriver(topology("inner", RETENTION)) as driver:
        write(driver, 1, "a", "old", 0)
        write(driver, 0, "a", "v", 5)
        write(driver, 1, "a", "new", 6)
        write(driver, 0, "b", "w", 25)
        driver.run()
        assert read_results(driver) == [("a", "v+old", 5)]
        assert driver.dropped == {}
