"""Prints processor time and elapsed time per record: `python -m benchmarks.kafka`."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from devtools.servers.kafka import KafkaBroker
from kstreams import Kafka
from kstreams.partitioner import Murmur2Partitioner
from kstreams.raw_batch import HEADERS_TYPE, OUTPUT_SCHEMA
from kstreams_kafka.range_reader import OffsetRange, RangeReader
from kstreams_kafka.sink import write_rows

ROWS, BATCHES, PARTITIONS, ROUNDS = 90_000, 4, 4, 3


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, KafkaBroker(Path(folder) / "broker") as broker:
        for ids in (True, False):
            topic = f"records-{ids}".lower()
            broker.create_topic(topic, PARTITIONS)
            for _ in range(ROUNDS):
                for compiled in (False, True):
                    way = "compiled" if compiled else "client"
                    kafka = Kafka(broker.bootstrap, compiled=compiled)
                    name = f"write, {'with' if ids else 'without'} ids, {way}"
                    told(name, partial(written, kafka, topic, ids=ids))
        for topic, name in (("records-true", "one header"), ("records-false", "no header")):
            for _ in range(ROUNDS):
                for compiled in (False, True):
                    way = "compiled" if compiled else "client"
                    kafka = Kafka(broker.bootstrap, compiled=compiled)
                    told(f"read, {name}, {way}", partial(read, kafka, topic))


def told(name: str, work: Callable[[], int]) -> None:
    started, wall = processor_s(), time.perf_counter()
    count = work()
    spent, passed = processor_s() - started, time.perf_counter() - wall
    print(f"{name:32} {spent / count * 1e6:5.2f} us of processor, {passed / count * 1e6:5.2f} us")


def written(kafka: Kafka, topic: str, *, ids: bool) -> int:
    table = records(topic)
    for batch in range(BATCHES):
        prefix = f"app/0/sink/{batch}" if ids else None
        write_rows(kafka, table, partitioner=Murmur2Partitioner(), id_prefix=prefix)
    return ROWS * BATCHES


def read(kafka: Kafka, topic: str) -> int:
    reader, count = RangeReader(kafka), 0
    with closing(kafka.admin()) as admin:
        ends = admin.end_offsets(topic)
    step = ROWS // PARTITIONS
    for start in range(0, max(ends.values()), step):
        ranges = [
            OffsetRange(topic, partition, start, min(start + step, end))
            for partition, end in ends.items()
            if start < end
        ]
        count += sum(table.num_rows for table in reader.read(ranges))
    reader.close()
    return count


def records(topic: str) -> pa.Table:
    values = [
        b'{"user": %d, "page": "/a/page/of/some/length", "ms": %d}' % (n, n) for n in range(ROWS)
    ]
    columns = [
        pa.array([topic] * ROWS),
        pa.array([b"%07d" % (n % 1000) for n in range(ROWS)], pa.binary()),
        pa.array(values, pa.binary()),
        pa.array(np.arange(ROWS) + 1_700_000_000_000),
        pa.nulls(ROWS, HEADERS_TYPE),
    ]
    return pa.Table.from_arrays(columns, schema=OUTPUT_SCHEMA)


def processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
