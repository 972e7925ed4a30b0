"""Reads of embedded topics by a worker, bounded by bytes, and staged writes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kstreams import BYTES, Embedded, Topic, TopologyBuilder
from kstreams.batch.io.embedded.topic_io import EmbeddedIO, publish
from kstreams.batch.io.topic_io import BatchId
from kstreams.checkpoint.planning.plans import Slice
from kstreams.embedded import parquet_rows
from kstreams.embedded.log import EmbeddedLog
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TopicPartition
from kstreams.raw_batch import TooManyBytesError
from kstreams.task.output.outputs import TaskOutput
from tests.support.kafka.sample_records import output_table

SIZE = 10_000


@pytest.fixture
def log(tmp_path: Path) -> EmbeddedLog:
    log = Embedded(tmp_path, durable=False).log()
    log.create("a", 2)
    return log


def _append(log: EmbeddedLog, partition: int, *sizes: int) -> Slice:
    table = pa.table(
        {
            "timestamp": pa.array([1] * len(sizes), pa.int64()),
            "key": pa.array([b"%d" % n for n in range(len(sizes))], pa.binary()),
            "value": pa.array([bytes(size) for size in sizes], pa.binary()),
        }
    )
    start = log.end_offset("a", partition)
    found = log.append("a", partition, table, producer=f"p{partition}", batch=start)
    return Slice("in", "a", partition, start, start + len(sizes), found.name)


def _io(log: EmbeddedLog) -> EmbeddedIO:
    return EmbeddedIO(Embedded(log.root, durable=False))


def test_read_returns_slices_within_byte_limit_entirely(log: EmbeddedLog) -> None:
    slices = [_append(log, 0, *[SIZE] * 20), _append(log, 1, *[SIZE] * 20)]
    queues = _io(log).read(slices, max_bytes=41 * SIZE)
    assert [queue.table.num_rows for queue in queues] == [20, 20]


def test_read_stops_at_byte_limit(log: EmbeddedLog) -> None:
    slices = [_append(log, 0, *[SIZE] * 20), _append(log, 1, *[SIZE] * 20)]
    with pytest.raises(TooManyBytesError) as caught:
        _io(log).read(slices, max_bytes=30 * SIZE)
    assert caught.value.sizes[TopicPartition("a", 0)][0] == 20
    offsets, size = caught.value.sizes[TopicPartition("a", 1)]
    assert size / offsets == pytest.approx(SIZE, rel=0.01)


def test_read_stops_within_row_group(log: EmbeddedLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_rows, "_PAGE_BYTES", 5 * SIZE)
    each = _append(log, 0, *[SIZE] * 1_000)
    with pytest.raises(TooManyBytesError) as caught:
        _io(log).read([each], max_bytes=20 * SIZE)
    assert 20 <= caught.value.sizes[TopicPartition("a", 0)][0] < 30


def test_read_takes_part_of_large_row_group(log: EmbeddedLog) -> None:
    each = _append(log, 0, *[SIZE] * 1_000)
    part = Slice("in", "a", 0, 700, 710, each.segment)
    (queue,) = _io(log).read([part], max_bytes=20 * SIZE)
    assert queue.table.column("offset").to_pylist() == list(range(700, 710))
    assert queue.table.column("key").to_pylist() == [b"%d" % n for n in range(700, 710)]


def test_at_least_one_record_is_read_however_large(log: EmbeddedLog) -> None:
    each = _append(log, 0, SIZE, 100 * SIZE, SIZE)
    part = Slice("in", "a", 0, 1, 2, each.segment)
    (queue,) = _io(log).read([part], max_bytes=SIZE)
    assert [len(value) for value in queue.table.column("value").to_pylist()] == [100 * SIZE]


def test_size_of_segment_is_uncompressed_size_of_its_rows(log: EmbeddedLog) -> None:
    _append(log, 0, *[SIZE] * 100)
    (segment,) = log.segments("a", 0)
    assert log.stored_bytes(segment) == pytest.approx(100 * SIZE, rel=0.02)
    path = log.root / "a" / "0" / segment.name
    assert path.stat().st_size < 50 * SIZE
    assert pq.read_metadata(path).num_rows == 100


def _output(keys: list[bytes | None]) -> TaskOutput:
    values = [b"%d" % n for n in range(len(keys))]
    return TaskOutput(sinks={"out": output_table("b", keys, values=values)})


def _group() -> PartitionGroup:
    builder = TopologyBuilder("t")
    source = builder.add_source("in", Topic("a", key=BYTES, value=BYTES))
    builder.add_sink("out", Topic("b", key=BYTES, value=BYTES), source)
    (group,) = builder.build().groups
    return group


def _published(log: EmbeddedLog, io: EmbeddedIO, output: TaskOutput) -> list[list[bytes]]:
    outputs = io.write(output, _group(), BatchId("epoch/in/0", 3))
    for _ in range(2):  # as at a restart after a crash
        publish(log, outputs, 3)
    return [
        [
            value
            for segment in log.segments("b", partition)
            for value in log.read(segment).column("value").to_pylist()
        ]
        for partition in range(3)
    ]


def test_large_output_is_staged_in_pieces_and_published_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [None if n % 3 == 0 else b"k%d" % (n % 7) for n in range(1_000)]
    found = []
    for name, most in ("whole", 1 << 30), ("pieces", 5_000):
        monkeypatch.setattr("kstreams.pieces.PIECE_BYTES", most)
        connection = Embedded(tmp_path / name, durable=False)
        connection.log().create("b", 3)
        found.append(_published(connection.log(), EmbeddedIO(connection), _output(keys)))
    whole, pieces = found
    assert pieces == whole
    assert sum(map(len, whole)) == len(keys)
    log = Embedded(tmp_path / "pieces", durable=False).log()
    assert len(log.segments("b", 0)) > 3
