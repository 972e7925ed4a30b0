"""Joins that receive one record on both inputs, and interceptors around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest

from kstreams import (
    INT64,
    TEXT,
    FixedKeyProcessor,
    Record,
    Topic,
    TopologyBuilder,
    key_value_store,
)
from kstreams.durations import milliseconds
from kstreams.errors import KStreamsError
from kstreams.graph.topology import Topology
from kstreams.ids import TaskId
from kstreams.joins import JoinProcessor, outer, within
from kstreams.operators import flat_map_values, map_values
from kstreams.stores import join_store
from kstreams.testing import TopologyTestDriver
from tests.support.apps.one_task import IN, OUT, OneTask, queue_of, values

Call = Callable[[Any], None]
STORE = key_value_store("seen", key=TEXT, value=INT64)


class Both(JoinProcessor[str, int, int, str, int]):
    """Forwards the sum of the left and right values."""

    log: list[str]
    fails: list[BaseException]

    def process_left(self, record: Record[str, int]) -> None:
        self.log.append("left")

    def process_right(self, record: Record[str, int]) -> None:
        self.log.append("right")

    def process_both(
        self, lefts: Sequence[Record[str, int]], rights: Sequence[Record[str, int]]
    ) -> None:
        self.log.append("both")
        if self.fails:
            raise self.fails.pop()
        for side in (lefts, rights):
            total = sum(record.value for record in side)
            self.context.forward(Record("k", total, max(r.timestamp for r in side)))


class Around:
    """An interceptor that logs each record, and calls a given function with it."""

    def __init__(self, log: list[str], does: Callable[[Call, Any], None]) -> None:
        self.log, self.does = log, does

    def bind(self, node: str, task: TaskId, process: Call) -> Call:
        if node != "join":
            return process

        def call(record: Record[Any, Any]) -> None:
            self.log.append(f">{record.value}")
            self.does(process, record)
            self.log.append(f"<{record.value}")

        return call


def diamond(both: type[Both]) -> Topology:
    """Return a topology that joins twice the value of each record with three times the value."""
    builder = TopologyBuilder("t")
    source = builder.add_source("in", IN)
    more = builder.add_processor("more", flat_map_values(lambda v: [2 * v, 3 * v]), source)
    builder.add_sink("out", OUT, builder.add_join("join", both, source, more))
    return builder.build()


def logging(*fails: BaseException) -> tuple[type[Both], list[str]]:
    log: list[str] = []
    return type("Logging", (Both,), {"log": log, "fails": list(fails)}), log


def run(does: Callable[[Call, Any], None], *fails: BaseException) -> tuple[list[int], list[str]]:
    both, log = logging(*fails)
    task = OneTask(diamond(both), interceptors=[Around(log, does)])
    return values(task.run(queue_of([("k", 1, 5)]))), log


def test_interceptor_gets_each_input_record_and_join_runs_within_last_call() -> None:
    found = run(lambda process, record: process(record))
    assert found == ([1, 5], [">1", "<1", ">2", "<2", ">3", "both", "<3"])


def test_record_changed_by_interceptor_is_joined() -> None:
    found, _ = run(lambda process, record: process(record.with_value(10 * record.value)))
    assert found == [10, 50]


@pytest.mark.parametrize("kept", [2, 3])
def test_record_skipped_by_interceptor_is_not_joined(kept: int) -> None:
    def let(process: Call, record: Record[Any, Any]) -> None:
        if record.value in (1, kept):
            process(record)

    found, log = run(let)
    assert (found, log.count("both")) == ([1, kept], 1)


def test_retry_by_interceptor_joins_record_again() -> None:
    def twice(process: Call, record: Record[Any, Any]) -> None:
        with suppress(OSError):
            process(record)
            return
        process(record)

    found, log = run(twice, OSError("gone"))
    assert (found, log.count("both")) == ([1, 5], 2)


def test_failed_record_leaves_no_buffered_input_for_next_join() -> None:
    both, log = logging(ValueError("wrong"))
    builder = TopologyBuilder("t", on_error="skip")
    source = builder.add_source("in", IN)
    twice = builder.add_processor("more", map_values(lambda v: 2 * v), source)
    builder.add_sink("out", OUT, builder.add_join("join", both, source, twice))
    task = OneTask(builder.build())
    assert values(task.run(queue_of([("k", 1, 5), ("k", 10, 6)]))) == [10, 20]
    assert log == ["both", "both"]


class Late(FixedKeyProcessor[str, int, int]):
    """Gives records an invalid timestamp."""

    def process(self, record: Record[str, int]) -> None:
        self.context.forward(Record(record.key, record.value, 2**62))


def test_invalid_record_time_is_rejected_before_join() -> None:
    both, log = logging()
    builder = TopologyBuilder("t")
    source = builder.add_source("in", IN)
    late = builder.add_processor("late", Late, source)
    joined = builder.add_join("join", both, source, late, stores=[STORE])
    builder.add_sink("out", OUT, joined)
    with pytest.raises(KStreamsError, match="time"):
        OneTask(builder.build()).run(queue_of([("k", 1, 5)]))
    assert log == []


class AroundTables:
    """An interceptor of column processors that counts rows."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def bind(self, node: str, task: TaskId, process: Call) -> Call:
        return process

    def bind_columns(
        self, node: str, task: TaskId, process_batch: Callable[[pa.Table], None]
    ) -> Callable[[pa.Table], None]:
        def call(table: pa.Table) -> None:
            self.log.append(f">{node} {table.num_rows}")
            process_batch(table)
            self.log.append(f"<{node}")

        return call


def test_join_by_columns_runs_within_last_interceptor_call() -> None:
    log: list[str] = []
    left, right = Topic("left", TEXT, TEXT), Topic("right", TEXT, TEXT)
    builder = TopologyBuilder("t")

    def joined(one: str | None, other: str | None) -> str:
        log.append(f"{one}+{other}")
        return ""

    pairs = builder.join_streams(
        "join",
        builder.add_source("left", left),
        builder.add_source("right", right),
        outer(joined),
        within=within(milliseconds(5), milliseconds(5), grace=milliseconds(0)),
        store=join_store("pairs", key=TEXT, left=TEXT, right=TEXT),
        execution="columns",
    )
    builder.add_sink("out", Topic("out", TEXT, TEXT), pairs)
    with TopologyTestDriver(builder.build(), interceptors=[AroundTables(log)]) as driver:
        driver.write(left, "k", "a", timestamp=1)
        driver.write(left, "k", "b", timestamp=2)
        driver.write(right, "k", "c", timestamp=3)
        driver.run()
    assert log == [">join 2", "<join", ">join 1", "a+c", "b+c", "<join"]
