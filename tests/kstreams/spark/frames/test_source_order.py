"""The order of records in a batch does not depend on the way in which Spark splits them."""

from __future__ import annotations

import random

import pyarrow as pa

from kstreams.batch.messages.edge_records import EdgeRecords
from kstreams.raw_batch import HEADERS_TYPE
from kstreams.spark.frames.pack import SOURCE_ROWS
from kstreams.spark.frames.source_order import source_queue
from kstreams.task.records.queues import Queue

Row = tuple[int, bytes, bytes, "int | None", "int | None"]
"""Time, key, value, partition, offset."""


def parts(rows: list[Row], seed: int) -> list[EdgeRecords]:
    """Split rows in an arbitrary way, as Spark may."""
    order = random.Random(seed)
    shuffled = order.sample(rows, len(rows))
    cut = order.randint(1, len(rows) - 1)
    found: list[EdgeRecords] = []
    for number, own in enumerate((shuffled[:cut], shuffled[cut:])):
        times, keys, values, places, offsets = zip(*own, strict=True)
        columns = [times, keys, values, None, places, offsets]
        arrays = [
            pa.nulls(len(own), HEADERS_TYPE) if column is None else pa.array(column, field.type)
            for column, field in zip(columns, SOURCE_ROWS, strict=True)
        ]
        table = pa.Table.from_arrays(arrays, schema=SOURCE_ROWS)
        found += EdgeRecords.of(Queue("lines", "lines", number, table))
    return found


def values(rows: list[Row], seed: int) -> list[bytes]:
    found: list[bytes] = source_queue(0, 3, parts(rows, seed)).table.column("value").to_pylist()
    return found


def test_records_with_offsets_are_ordered_by_time_and_offset_whatever_the_splits() -> None:
    rows: list[Row] = [(n // 7, b"k", b"%d" % (97 * n % 50), n % 3, n) for n in range(50)]
    expected = [v for _, _, v, _, _ in sorted(rows, key=lambda r: (r[0], r[3], r[4]))]
    assert [values(rows, seed) for seed in range(5)] == [expected] * 5


def test_records_of_equal_time_without_offsets_are_ordered_by_key_and_value() -> None:
    rows: list[Row] = [
        (n // 7, b"%d" % (n % 2), b"%d" % (97 * n % 50), None, None) for n in range(50)
    ]
    expected = [v for _, _, v, _, _ in sorted(rows, key=lambda r: r[:3])]
    assert [values(rows, seed) for seed in range(5)] == [expected] * 5


def test_generated_offsets_increase_from_batch_to_batch() -> None:
    rows: list[Row] = [(n, b"k", b"v", None, None) for n in range(5)]
    first, second = (source_queue(0, batch, parts(rows, 0)).table for batch in (3, 4))
    ends = first.column("offset").to_pylist()[-1], second.column("offset").to_pylist()[0]
    assert ends[0] < ends[1]
