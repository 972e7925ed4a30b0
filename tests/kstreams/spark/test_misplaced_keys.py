"""Topics with keys placed by another partitioner are rejected with a hint."""

from __future__ import annotations

import zlib
from collections import Counter
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from devtools.servers.kafka import KafkaBroker
from kstreams import TEXT, App, Kafka, Topic, Topology, TopologyBuilder
from kstreams.errors import MisplacedKeyError, PartitionCountError
from kstreams.partitioner import partition_of
from kstreams.topic import Misplaced
from tests.support.kafka.sample_records import read_all
from tests.support.spark.bench import COUNTS, TOTALS, Bench, Count

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

NAMES = [f"user-{number}" for number in range(200)]
PARTITIONS = 3


def meeting(left: str, right: str, misplaced: Misplaced = "fail", sink: str = "") -> Topology:
    """Count the records of two topics together."""
    builder = TopologyBuilder("meeting")
    both = [
        builder.add_source(name, Topic(topic, TEXT, TEXT, misplaced=misplaced))
        for name, topic in (("left", left), ("right", right))
    ]
    counted = builder.add_processor("count", Count, *both, stores=[COUNTS])
    builder.add_sink("totals", Topic(sink or TOTALS.name, TOTALS.key, TOTALS.value), counted)
    return builder.build()


def test_misplaced_key_on_embedded_topic_stops_app_and_corrected_topic_is_read(
    bench: Bench,
) -> None:
    left, right = Topic("left", TEXT, TEXT), Topic("right", TEXT, TEXT)
    bench.create(left, TOTALS, partitions=PARTITIONS)
    bench.create(right, partitions=PARTITIONS + 1)
    with pytest.raises(PartitionCountError) as refused:
        bench.run(meeting("left", "right"))
    assert "Topic 'left' is the smaller side (0 records" in refused.value.hint
    bench.connection.admin().delete("right")
    bench.create(right, partitions=PARTITIONS)
    bench.emit(left, [(name, "l") for name in NAMES])
    wrong = next(name for name in NAMES if partition_of(name.encode(), PARTITIONS) == 0)
    with closing(bench.connection.writer()) as writer:
        writer.write("right", 1, wrong.encode(), b"r", 5)
    with pytest.raises(MisplacedKeyError) as caught:
        bench.run(meeting("left", "right"))
    error, where = caught.value, caught.value.where
    assert error.expected == 0
    assert (where.topic, where.partition, where.offset, where.key) == ("right", 1, 0, wrong)
    assert "is in partition 1 of 3, but belongs to partition 0" in error.message
    assert bench.raw(TOTALS) == []
    bench.reports.clear()
    bench.run(meeting("left", "right", "count"))
    dropped = sum((Counter(report.dropped) for report in bench.reports), Counter[str]())
    assert dropped == {"misplaced-key": 1}
    assert len(bench.raw(TOTALS)) == len(NAMES) + 1


@pytest.mark.kafka
def test_error_on_kafka_names_librdkafka_default_partitioner(
    broker: KafkaBroker, spark: SparkSession, tmp_path: Path, topic_name: str
) -> None:
    names = [f"{topic_name}-{side}" for side in ("left", "right", "fixed", "out")]
    left, right, fixed, out = (broker.create_topic(name, PARTITIONS) for name in names)
    for topic, options in (
        (left, {"partitioner": "murmur2_random"}),
        (right, {}),
        (fixed, {"partitioner": "murmur2_random"}),
    ):
        producer = Producer({"bootstrap.servers": broker.bootstrap, **options})
        for name in NAMES:
            producer.produce(topic, b"v", name.encode())
        assert producer.flush(30) == 0
    kafka = Kafka(broker.bootstrap)
    rows = read_all(kafka, right)
    assert all(zlib.crc32(row.key or b"") % PARTITIONS == row.partition for row in rows)

    def run(topology: Topology, checkpoint: str) -> None:
        app = App(
            topology, kafka, checkpoint=tmp_path / checkpoint, spark=spark, trigger=timedelta(0)
        )
        with app:
            app.run(until="end", timeout=timedelta(seconds=90))

    with pytest.raises(MisplacedKeyError) as caught:
        run(meeting(left, right, sink=out), "wrong")
    error, where = caught.value, caught.value.where
    assert where.topic == right
    assert error.expected == partition_of(str(where.key).encode(), PARTITIONS) != where.partition
    assert "librdkafka's default partitioner, consistent_random (CRC32):" in error.hint
    assert "set partitioner=murmur2_random in the producer" in error.hint
    assert read_all(kafka, out) == []
    run(meeting(left, fixed, sink=out), "right")
    totals = Counter(TOTALS.value.deserialize(row.value or b"") for row in read_all(kafka, out))
    assert totals == {1: len(NAMES), 2: len(NAMES)}
