"""Record and byte counts of topics of an app on a broker."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.servers.kafka import KafkaBroker
from kstreams import (
    INT64,
    TEXT,
    App,
    Emitter,
    Kafka,
    Topic,
    TopologyBuilder,
    aggregate,
    timestamped_store,
)
from kstreams.aggregators import count
from kstreams.app import BatchReport, TopicCounts

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(300)]


def test_counts_equal_records_and_bytes_in_topics_on_broker(
    broker: KafkaBroker, topic_name: str, tmp_path: Path, spark: SparkSession
) -> None:
    clicks = Topic(topic_name, key=TEXT, value=INT64)
    totals = Topic(f"{topic_name}-totals", key=TEXT, value=INT64)
    log = f"{topic_name}-log"
    counts = timestamped_store("counts", key=TEXT, value=INT64).with_changelog(log)
    builder = TopologyBuilder("bytes")
    source = builder.add_source("clicks", clicks)
    counted = builder.add_processor("count", aggregate(count(), store=counts), source)
    builder.add_sink("totals", totals, counted)
    kafka = Kafka(broker.bootstrap)
    broker.create_topic(clicks.name, 2)
    broker.create_topic(totals.name, 2)
    with Emitter(clicks, kafka) as emitter:
        emitter.emit_many((f"key-{n % 3}", n) for n in range(30))
    reports: list[BatchReport] = []
    app = App(
        builder.build(),
        kafka,
        checkpoint=tmp_path / "checkpoint",
        spark=spark,
        parallelism=2,
        max_records_per_batch=10,
        trigger=timedelta(0),
        on_batch=reports.append,
    )
    app.run(until="end", timeout=timedelta(seconds=120))
    admin, reader = kafka.admin(), kafka.reader()
    found = reports[-1].totals.topics
    for topic in (clicks.name, totals.name, log):
        ends = admin.end_offsets(topic)
        rows = [row for p, end in ends.items() for row in reader.read(topic, p, 0, end)]
        size = sum(len(row.key or b"") + len(row.value or b"") for row in rows)
        both = len(rows), size
        read = topic == clicks.name
        assert found[topic] == (TopicCounts(*both) if read else TopicCounts(0, 0, *both))
    assert sum(report.topics[clicks.name].records_in for report in reports) == 30
