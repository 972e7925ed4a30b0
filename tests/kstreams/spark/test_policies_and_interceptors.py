"""Error policies, interceptors, batch processors and nulls on Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
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
    Record,
    Topic,
    TopologyBuilder,
    flat_map,
    map_values,
)
from kstreams.ids import TaskId
from kstreams.processors import FixedKeyBatchProcessor
from tests.kstreams.spark.running_sum import NUMBERS, SUMS, summing
from tests.support.spark.bench import COUNTS, TOTALS, WORDS, Bench, Count, counting, sums

pytestmark = pytest.mark.spark


def _fragile(value: int) -> int:
    if value == 13:
        raise ValueError("thirteen")
    return value


@pytest.mark.parametrize("policy", ["skip", "dead-letter"])
def test_failing_records_are_handled_by_policy(bench: Bench, policy: str) -> None:
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


def test_interceptors_wrap_each_processor_in_order(bench: Bench) -> None:
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


def test_batch_processors_receive_complete_tables(bench: Bench) -> None:
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
