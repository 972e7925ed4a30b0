from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, SparkSession

from kstreams import BYTES, Topic, TopologyBuilder
from kstreams.errors import ExecutionError, UnknownTopicError
from kstreams.graph.nodes import Start
from kstreams.graph.topology import PartitionGroup
from kstreams.kafka.options import Kafka
from kstreams.partitioner import partition_by
from kstreams.record import Headers
from kstreams.spark.envelope import Envelope
from kstreams.spark.kafka_io import KafkaWriter, kafka_rows, starting_offsets
from kstreams.spark.kafka_loss import data_loss
from kstreams.task.outputs import TaskOutput
from kstreams.task.queues import Queue
from tests.kstreams.kafka.samples import output_table, read_all, sasl
from tests.servers.kafka import KafkaBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(300)]

KEYS = ((1, 2, 3, 4), (10, 11, 12, 13))


def group_of(*topics: str, start: Start = "earliest") -> PartitionGroup:
    """One group with a source a topic; sources are named `from-<topic>`."""
    builder = TopologyBuilder("t")
    sources = [
        builder.add_source(f"from-{t}", Topic(t, key=BYTES, value=BYTES), start=start)
        for t in topics
    ]
    builder.add_sink("out", Topic("out", key=BYTES, value=BYTES), *sources)
    (group,) = builder.build().groups
    return group


def fill(kafka: Kafka, topic: str, partition: int, count: int, *, first_ms: int = 1_000) -> None:
    """Append records n at `first_ms + n`: every third with headers, some with nulls."""
    writer = kafka.writer()
    for n in range(count):
        headers: Headers = (("n", b"%d" % n), ("null", None)) if n % 3 == 0 else ()
        key = None if n % 5 == 0 else b"k%d" % n
        value = None if n % 7 == 0 else b"v%d" % n
        writer.enqueue(topic, partition, key, value, first_ms + n, headers)
    writer.close()


@dataclass
class Reading:
    """A query on `kafka_rows`, run to the present end, its batches kept."""

    session: SparkSession
    kafka: Kafka
    group: PartitionGroup
    checkpoint: Path
    starts: str = ""
    max_records: int = 1_000_000
    batches: list[list[tuple[int, int, Queue]]] = field(default_factory=list)

    def run(self, **options: Any) -> Reading:
        rows = kafka_rows(
            self.session,
            self.kafka,
            self.group,
            stage=1,
            keys=KEYS,
            starting_offsets=self.starts or starting_offsets(self.kafka, self.group),
            max_records=self.max_records,
            **options,
        )
        writer = rows.writeStream.foreachBatch(self._take).trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(self.checkpoint)).start()
        try:
            query.awaitTermination(120)
        finally:
            query.stop()
        return self

    def _take(self, frame: DataFrame, batch: int) -> None:
        found = [
            (row.stage, row.key, Envelope.unpack(bytes(row.payload)).queue())
            for row in frame.collect()
        ]
        if found:
            self.batches.append(found)

    @property
    def queues(self) -> list[Queue]:
        return [queue for batch in self.batches for _, _, queue in batch]

    def column(self, name: str, topic: str, partition: int) -> list[Any]:
        """One column of a partition over all batches, in order of arrival."""
        tables = [q.table for q in self.queues if (q.topic, q.partition) == (topic, partition)]
        return [value for table in tables for value in table.column(name).to_pylist()]


@pytest.fixture
def reading(spark: SparkSession, broker: KafkaBroker, tmp_path: Path) -> Callable[..., Reading]:
    def make(*topics: str, start: Start = "earliest", **settings: Any) -> Reading:
        kafka = settings.pop("kafka", Kafka(broker.bootstrap))
        group = group_of(*topics, start=start)
        return Reading(spark, kafka, group, tmp_path / "checkpoint", **settings)

    return make


def test_every_partition_is_packed_in_offset_order(
    reading: Callable[..., Reading], broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name, 4)
    kafka = Kafka(broker.bootstrap)
    counts = {0: 30, 1: 0, 2: 25_000, 3: 1}
    for partition, count in counts.items():
        fill(kafka, topic_name, partition, count)
    done = reading(topic_name).run()
    for stage, key, queue in done.batches[0]:
        assert (stage, key) == (1, KEYS[1][queue.partition])
        assert queue.entry == f"from-{topic_name}"
    assert [q.partition for q in done.queues].count(1) == 0
    for partition, count in counts.items():
        assert done.column("offset", topic_name, partition) == list(range(count))
        assert done.column("timestamp", topic_name, partition) == [1_000 + n for n in range(count)]


def test_nulls_and_headers_come_through(
    reading: Callable[..., Reading], broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name)
    fill(Kafka(broker.bootstrap), topic_name, 0, 36)
    done = reading(topic_name).run()
    keys = [None if n % 5 == 0 else b"k%d" % n for n in range(36)]
    values = [None if n % 7 == 0 else b"v%d" % n for n in range(36)]
    headers = [
        [{"key": "n", "value": b"%d" % n}, {"key": "null", "value": None}] if n % 3 == 0 else None
        for n in range(36)
    ]
    assert done.column("key", topic_name, 0) == keys
    assert done.column("value", topic_name, 0) == values
    assert done.column("headers", topic_name, 0) == headers


def test_headers_are_left_out_when_not_asked_for(
    reading: Callable[..., Reading], broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name)
    fill(Kafka(broker.bootstrap), topic_name, 0, 6)
    done = reading(topic_name).run(headers=False)
    assert done.column("headers", topic_name, 0) == [None] * 6
    assert done.column("offset", topic_name, 0) == list(range(6))


def test_topics_of_a_group_are_told_apart(
    reading: Callable[..., Reading], broker: KafkaBroker, topic_name: str
) -> None:
    topics = [broker.create_topic(f"{topic_name}-{n}", 2) for n in range(2)]
    for n, topic in enumerate(topics):
        for partition in range(2):
            fill(Kafka(broker.bootstrap), topic, partition, 10 + n)
    done = reading(*topics).run()
    for n, topic in enumerate(topics):
        for partition in range(2):
            assert done.column("offset", topic, partition) == list(range(10 + n))
    assert {(q.entry, q.topic) for q in done.queues} == {(f"from-{t}", t) for t in topics}


def test_batches_are_bounded_and_go_on_where_they_ended(
    reading: Callable[..., Reading], broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name, 2)
    kafka = Kafka(broker.bootstrap)
    for partition in range(2):
        fill(kafka, topic_name, partition, 100)
    settings = reading(topic_name, max_records=60)
    settings.run()
    assert len(settings.batches) >= 4
    assert all(sum(q.table.num_rows for _, _, q in batch) <= 61 for batch in settings.batches)
    fill(kafka, topic_name, 0, 10)
    settings.run()
    assert settings.column("offset", topic_name, 0) == list(range(110))
    assert settings.column("offset", topic_name, 1) == list(range(100))


def test_start_by_time(
    reading: Callable[..., Reading], broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name, 3)
    kafka = Kafka(broker.bootstrap)
    fill(kafka, topic_name, 0, 20, first_ms=1_000)
    fill(kafka, topic_name, 1, 5, first_ms=100)  # all before
    start = datetime.fromtimestamp(1.005, tz=timezone.utc)
    settings = reading(topic_name, start=start)
    settings.starts = starting_offsets(kafka, settings.group)
    assert json.loads(settings.starts) == {topic_name: {"0": 5, "1": 5, "2": 0}}
    fill(kafka, topic_name, 1, 1, first_ms=100)  # late, and after the choice
    settings.run()
    assert settings.column("offset", topic_name, 0) == list(range(5, 20))
    assert settings.column("offset", topic_name, 1) == [5]


def test_start_at_the_end_is_fixed_when_it_is_chosen(
    reading: Callable[..., Reading], broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name, 2)
    kafka = Kafka(broker.bootstrap)
    fill(kafka, topic_name, 0, 20)
    settings = reading(topic_name, start="latest")
    settings.starts = starting_offsets(kafka, settings.group)
    assert json.loads(settings.starts) == {topic_name: {"0": 20, "1": 0}}
    fill(kafka, topic_name, 0, 3)
    settings.run()
    assert settings.column("offset", topic_name, 0) == [20, 21, 22]


def test_start_at_the_beginning_is_whatever_is_left(broker: KafkaBroker, topic_name: str) -> None:
    broker.create_topic(topic_name, 2)
    found = starting_offsets(Kafka(broker.bootstrap), group_of(topic_name))
    assert json.loads(found) == {topic_name: {"0": -2, "1": -2}}


def test_start_of_a_missing_topic(broker: KafkaBroker, topic_name: str) -> None:
    with pytest.raises(UnknownTopicError):
        starting_offsets(Kafka(broker.bootstrap), group_of(topic_name))


def test_aborted_records_are_not_read(
    reading: Callable[..., Reading], broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic_name})
    producer.init_transactions(30)
    for value in (b"aborted", b"committed"):
        producer.begin_transaction()
        producer.produce(topic_name, value)
        if value == b"aborted":
            assert producer.flush(30) == 0
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)
    done = reading(topic_name).run()
    assert done.column("value", topic_name, 0) == [b"committed"]


def test_sasl_listener_is_read(
    reading: Callable[..., Reading], broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name)
    kafka = sasl(broker, "SCRAM-SHA-256")
    fill(kafka, topic_name, 0, 5)
    done = reading(topic_name, kafka=kafka).run()
    assert done.column("offset", topic_name, 0) == list(range(5))


def test_deleted_records_are_data_loss(
    reading: Callable[..., Reading], broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name, 2)
    kafka = Kafka(broker.bootstrap)
    fill(kafka, topic_name, 1, 10)
    settings = reading(topic_name)
    settings.run()
    fill(kafka, topic_name, 1, 10)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.delete_records([TopicPartition(topic_name, 1, 15)]).values():
        future.result(30)
    with pytest.raises(Exception, match="Some data may have been lost") as caught:
        settings.run()
    found = data_loss(caught.value)
    assert found is not None
    assert (found.where.topic, found.where.partition, found.where.offset) == (topic_name, 1, 10)
    assert settings.column("offset", topic_name, 1) == list(range(10))


def test_shorter_topic_of_the_same_name_is_data_loss(
    reading: Callable[..., Reading], broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name)
    kafka = Kafka(broker.bootstrap)
    fill(kafka, topic_name, 0, 10)
    settings = reading(topic_name)
    settings.run()
    kafka.admin().delete(topic_name)
    broker.create_topic(topic_name)
    fill(kafka, topic_name, 0, 3)
    with pytest.raises(Exception, match="offset was changed") as caught:
        settings.run()
    found = data_loss(caught.value)
    assert found is not None
    assert (found.where.topic, found.where.partition, found.where.offset) == (topic_name, 0, 10)


def test_sinks_and_dead_letters_are_written_with_ids(broker: KafkaBroker, topic_name: str) -> None:
    broker.create_topic(topic_name, 2)
    dead = broker.create_topic(f"{topic_name}-dead")
    builder = TopologyBuilder("t")
    last = partition_by(lambda _, count: count - 1, name="last")
    source = builder.add_source("in", Topic("in", key=BYTES, value=BYTES))
    target = Topic(topic_name, key=BYTES, value=BYTES, partitioner=last)
    builder.add_sink("totals", target, source)
    (group,) = builder.build().groups
    kafka = Kafka(broker.bootstrap)
    output = TaskOutput(
        sinks={"totals": output_table(topic_name, [b"a", b"b"])},
        dead_letters={dead: output_table(dead, [b"c"])},
    )
    staged = KafkaWriter(kafka).write(output, group, producer="life/in/0", batch=7)
    assert staged == []
    assert [(r.partition, r.key, r.headers) for r in read_all(kafka, topic_name)] == [
        (1, b"a", (("kstreams-id", b"life/in/0/totals/7/0"),)),
        (1, b"b", (("kstreams-id", b"life/in/0/totals/7/1"),)),
    ]
    assert [(r.key, r.headers) for r in read_all(kafka, dead)] == [
        (b"c", (("kstreams-id", b"life/in/0/dead-letter:%s/7/0" % dead.encode()),))
    ]


def test_writer_reads_no_slices() -> None:
    with pytest.raises(ExecutionError):
        KafkaWriter(Kafka("127.0.0.1:9")).read_slice(["in", "t", 0, "name", 0, 1])
