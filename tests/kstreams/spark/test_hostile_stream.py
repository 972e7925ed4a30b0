"""A stream of hostile records on Spark gives the same results as on the test driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from devtools.servers.kafka import KafkaBroker
from kstreams import App, DeadLetter, Embedded, Kafka, Topology
from kstreams.app import BatchReport
from kstreams.connection import Connection, RawRecord
from kstreams.partitioner import partition_of
from kstreams.topology import OnError
from tests.support.hostile.record_accounting import LETTERS, Account, Written, identified
from tests.support.hostile.records import Hostile, drawn
from tests.support.hostile.topologies import IN, OUT, RESULTS, of_windows

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

RECORDS = 300
PARTITIONS = 2


def stream_of(seed: int, *, odd_times: bool) -> list[Hostile]:
    """Return records, optionally with unusual times that connections accept."""
    random = Random(seed)
    records = [drawn(random, odd_times=odd_times) for _ in range(RECORDS)]
    return [replace(each, timestamp=max(each.timestamp, 1)) for each in records]


def write(connection: Connection, stream: Sequence[Hostile]) -> None:
    admin, writer = connection.admin(), connection.writer()
    for topic in (IN.name, OUT.name, RESULTS, LETTERS):
        admin.create(topic, PARTITIONS)
    for number, record in enumerate(stream):
        partition = number if record.key is None else partition_of(record.key, PARTITIONS)
        headers = identified(record, number)
        place = IN.name, partition % PARTITIONS
        writer.write(*place, record.key, record.value, record.timestamp, headers)
    writer.close()
    admin.close()


def read(connection: Connection, topic: str) -> list[Written]:
    admin, reader = connection.admin(), connection.reader()
    found: list[RawRecord] = []
    for partition, end in sorted(admin.end_offsets(topic).items()):
        found += reader.read(topic, partition, 0, end)
    reader.close()
    admin.close()
    return [Written(row.key, row.value, row.timestamp, row.headers) for row in found]


def run(
    connection: Connection, topology: Topology, spark: SparkSession, home: Path
) -> Counter[str]:
    """Run an app to the end in several batches; return the dropped records by reason."""
    reports: list[BatchReport] = []
    options: dict[str, Any] = {"checkpoint": home / "checkpoint", "spark": spark, "parallelism": 2}
    with App(
        topology,
        connection,
        trigger=timedelta(0),
        max_records_per_batch=RECORDS // 3,
        on_batch=reports.append,
        **options,
    ) as app:
        app.run(until="end", timeout=timedelta(seconds=240))
    dropped: Counter[str] = Counter()
    for report in reports:
        dropped.update(report.dropped)
    assert len(reports) > 2
    return dropped


def check(
    connection: Connection,
    stream: Sequence[Hostile],
    policy: OnError,
    spark: SparkSession,
    home: Path,
) -> None:
    write(connection, stream)
    topology = of_windows("session", "once-per-batch", policy)
    dropped = run(connection, topology, spark, home)
    account = Account(stream, dropped, read(connection, OUT.name), read(connection, LETTERS))
    account.check(policy="skip" if policy == "skip" else "dead-letter")
    assert read(connection, RESULTS)


def test_hostile_records_of_embedded_topics_are_not_lost_and_do_not_stop_app(
    spark: SparkSession, tmp_path: Path
) -> None:
    topics = Embedded(tmp_path / "topics", durable=False)
    check(topics, stream_of(7, odd_times=True), DeadLetter(LETTERS), spark, tmp_path)


@pytest.mark.kafka
def test_hostile_records_of_broker_are_not_lost_and_do_not_stop_app(
    spark: SparkSession, broker: KafkaBroker, tmp_path: Path
) -> None:
    stream = stream_of(8, odd_times=False)  # a broker rejects times far in the future
    check(Kafka(broker.bootstrap), stream, DeadLetter(LETTERS), spark, tmp_path)
