from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kstreams.errors import PartitionCountError
from kstreams.spark import kafka_pack
from kstreams.spark.envelope import Envelope
from kstreams.spark.failure import WorkerFailure, find_failure
from kstreams.spark.kafka_pack import Packer
from kstreams.task.queues import QUEUE_SCHEMA

# Spark's names and types: lists of "element", no field nullable by name.
HEADERS = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))


def records(
    partitions: list[int], *, topics: list[str] | None = None, **more: Any
) -> pa.RecordBatch:
    count = len(partitions)
    columns: dict[str, pa.Array] = {
        "partition": pa.array(partitions, pa.int32()),
        "offset": pa.array(more.get("offsets", range(count)), pa.int64()),
        "timestamp": pa.array([1_000 + n for n in range(count)], pa.int64()),
        "key": pa.array(more.get("keys", [b"k"] * count), pa.binary()),
        "value": pa.array(more.get("values", [b"v"] * count), pa.binary()),
    }
    if "headers" in more:
        columns["headers"] = pa.array(more["headers"], HEADERS)
    if topics is not None:
        columns["topic"] = pa.array(topics, pa.string())
    return pa.record_batch(columns)


def pack(packer: Packer, *batches: pa.RecordBatch) -> list[tuple[int, int, Envelope]]:
    return [
        (row["stage"], row["key"], Envelope.unpack(row["payload"]))
        for batch in packer(list(batches))
        for row in batch.to_pylist()
    ]


def test_batches_of_one_partition_become_one_row() -> None:
    packer = Packer(1, (70, 71, 72), {"in": "source"})
    rows = pack(packer, records([2, 2], offsets=[5, 6]), records([2], offsets=[9]))
    ((stage, key, envelope),) = rows
    assert (stage, key) == (1, 72)
    assert (envelope.kind, envelope.stage, envelope.task) == ("queue", 1, 2)
    assert envelope.header["wall"] is None
    queue = envelope.queue()
    assert (queue.entry, queue.topic, queue.partition) == ("source", "in", 2)
    assert queue.table.schema == QUEUE_SCHEMA
    assert queue.table.column("offset").to_pylist() == [5, 6, 9]
    assert queue.table.column("timestamp").to_pylist() == [1_000, 1_001, 1_000]


def test_nulls_and_headers_are_kept() -> None:
    headers = [None, [{"key": "a", "value": b"1"}, {"key": "a", "value": None}], []]
    batch = records([0] * 3, keys=[None, b"", b"k"], values=[b"", None, b"v"], headers=headers)
    ((_, _, envelope),) = pack(Packer(0, (9,), {"in": "source"}), batch)
    table = envelope.queue().table
    assert table.column("key").to_pylist() == [None, b"", b"k"]
    assert table.column("value").to_pylist() == [b"", None, b"v"]
    assert table.column("headers").to_pylist() == [None, headers[1], None]  # none is null


def test_headers_that_were_not_read_are_null() -> None:
    ((_, _, envelope),) = pack(Packer(0, (9,), {"in": "source"}), records([0, 0]))
    assert envelope.queue().table.column("headers").null_count == 2


def test_runs_of_topics_and_partitions_are_cut() -> None:
    packer = Packer(0, (9, 8), {"a": "from-a", "b": "from-b"})
    first = records([0, 0, 1], topics=["a", "b", "b"], offsets=[1, 2, 3])
    second = records([1, 0], topics=["b", "b"], offsets=[4, 5])
    rows = pack(packer, first, second)
    queues = [envelope.queue() for _, _, envelope in rows]
    assert [
        (q.entry, q.topic, q.partition, q.table.column("offset").to_pylist()) for q in queues
    ] == [
        ("from-a", "a", 0, [1]),
        ("from-b", "b", 0, [2]),
        ("from-b", "b", 1, [3, 4]),
        ("from-b", "b", 0, [5]),
    ]
    assert [key for _, key, _ in rows] == [9, 9, 8, 9]


def test_nothing_in_nothing_out() -> None:
    packer = Packer(0, (9,), {"in": "source"})
    assert pack(packer) == []
    assert pack(packer, records([])) == []


def test_long_runs_are_cut_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_pack, "_MAX_BYTES", 1_000)
    batches = [records([0], offsets=[n], values=[bytes(600)]) for n in range(5)]
    rows = pack(Packer(0, (9,), {"in": "source"}), *batches)
    found = [envelope.queue().table.column("offset").to_pylist() for _, _, envelope in rows]
    assert found == [[0, 1], [2, 3], [4]]


def test_new_partition_is_a_typed_error() -> None:
    with pytest.raises(WorkerFailure) as caught:
        pack(Packer(0, (9,), {"in": "source"}), records([1]))
    failure = find_failure(caught.value)
    assert isinstance(failure, PartitionCountError)
    assert (failure.where.topic, failure.where.partition) == ("in", 1)
