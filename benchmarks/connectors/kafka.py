"""Kafka as a sink, at-least-once and exactly-once: rows per second, and time of a small batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from benchmarks.measured import Times
from devtools.servers.kafka import KafkaBroker
from kstreams.partitioner import Murmur2Partitioner
from kstreams.raw_batch import OUTPUT_SCHEMA
from kstreams.state.log.directory import DirectoryObjectStore
from kstreams.state.log.durable import Attempt
from kstreams.state.log.loop_objects import read_loops, write_loops
from kstreams_kafka.options import Kafka
from kstreams_kafka.publisher import Publisher
from kstreams_kafka.sink import placed_rows, write_rows
from kstreams_kafka.staged_rows import to_table

__all__ = ("deliveries",)

_SMALL = 100
_TOPIC = "results"
_MURMUR2 = Murmur2Partitioner()


def deliveries(count: int, rounds: int) -> Iterator[tuple[str, float]]:
    """Yield rows per second of both guarantees (best round), and the median ms of a one-row batch.

    At-least-once: rows are written and flushed. Exactly-once: rows are staged in a log on disk,
    read from the log, and published in a transaction; the time ends when readers see them.
    """
    with TemporaryDirectory() as folder, KafkaBroker(Path(folder) / "broker") as broker:
        broker.create_topic(_TOPIC, 4)
        kafka = Kafka(broker.bootstrap)
        publisher = Publisher(kafka, "benchmark")
        publisher.prepare(_TOPIC, 0)
        log, done = DirectoryObjectStore(Path(folder) / "log"), [0]

        def at_least_once(table: pa.Table) -> None:
            write_rows(kafka, table, partitioner=_MURMUR2, id_prefix=None)

        def exactly_once(table: pa.Table) -> None:
            rows = placed_rows(kafka, table, partitioner=_MURMUR2, id_prefix=None)
            attempt = Attempt(f"{done[0]:032x}", done[0])
            parts = write_loops(log, "loops/", attempt, 0, (("out", 0, to_table(r)) for r in rows))
            publisher.publish(_TOPIC, done[0], lambda: read_loops(log, parts), lambda: None)
            done[0] += 1

        ways = {"at least once": at_least_once, "exactly once": exactly_once}
        for name, way in ways.items():
            yield f"{name}, rows a second", count / min(_times(way, count, rounds))
        for name, way in ways.items():
            yield f"{name}, ms of one row", 1000 * sorted(_times(way, 1, _SMALL))[_SMALL // 2]
        publisher.close()


def _times(way: Callable[[pa.Table], None], count: int, rounds: int) -> list[float]:
    columns = {
        "topic": [_TOPIC] * count,
        "key": [b"word-%d" % n for n in range(count)],
        "value": [b"%d" % n for n in range(count)],
        "timestamp": [1_000 + n for n in range(count)],
        "headers": [None] * count,
    }
    table, times = pa.table(columns, schema=OUTPUT_SCHEMA), Times()
    for _ in range(rounds):
        with times:
            way(table)
    return times.wall
