"""Single records are written to Kafka, each with a future."""

from __future__ import annotations

import gc
import threading
import time
from pathlib import Path

import pytest

from devtools.servers.kafka import KafkaBroker
from kstreams.connection import Appended, TopicWriter
from kstreams.errors import (
    DeliveryError,
    ExecutionError,
    KafkaOptionsError,
    RecordRefusedError,
    UnknownTopicError,
)
from kstreams_kafka.options import Kafka
from tests.support.kafka.sample_records import read_all, sasl

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]


def test_writer_future_has_offset_of_record(broker: KafkaBroker, topic_name: str) -> None:
    broker.create_topic(topic_name, 3)
    kafka = Kafka(broker.bootstrap)
    writer: TopicWriter = kafka.writer()
    headers = (("a", b"1"), ("a", b"2"), ("null", None))
    first = writer.write(topic_name, 2, b"k", b"v", 1_234, headers)
    assert Appended(topic_name, 2, 0) == first.result(30)
    second = writer.write(topic_name, 2, None, None, 5)
    writer.flush()
    assert second.done()
    assert Appended(topic_name, 2, 1) == second.result()
    writer.close()
    found = read_all(kafka, topic_name)
    assert [(2, 0, 1_234, b"k", b"v", headers), (2, 1, 5, None, None, ())] == [
        (r.partition, r.offset, r.timestamp, r.key, r.value, r.headers) for r in found
    ]


def test_records_of_partition_have_order_of_writes(broker: KafkaBroker, topic_name: str) -> None:
    broker.create_topic(topic_name)
    kafka = Kafka(broker.bootstrap, producer={"queue.buffering.max.messages": 500})
    writer = kafka.writer()
    futures = []
    for n in range(5_000):
        if n % 3:
            writer.enqueue(topic_name, 0, b"k", b"%d" % n, 1)
        else:
            futures.append(writer.write(topic_name, 0, b"k", b"%d" % n, 1))
    writer.close()
    assert [b"%d" % n for n in range(5_000)] == [r.value for r in read_all(kafka, topic_name)]
    assert list(range(0, 5_000, 3)) == [future.result().offset for future in futures]


def test_threads_can_share_kafka_writer(broker: KafkaBroker, topic_name: str) -> None:
    broker.create_topic(topic_name, 4)
    kafka = Kafka(broker.bootstrap)
    writer = kafka.writer()

    def work(partition: int) -> None:
        for n in range(1_000):
            writer.enqueue(topic_name, partition, b"k", b"%d" % n, 1)
        writer.flush()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    found = read_all(kafka, topic_name)
    assert [b"%d" % n for n in range(1_000)] * 4 == [r.value for r in found]


@pytest.mark.parametrize("partition", [-1, 2])
def test_missing_partition_fails_at_the_call(
    broker: KafkaBroker, topic_name: str, partition: int
) -> None:
    broker.create_topic(topic_name, 2)
    writer = Kafka(broker.bootstrap).writer()
    with pytest.raises(UnknownTopicError, match="expected 0 to 1") as caught:
        writer.write(topic_name, partition, b"k", b"v", 1)
    assert (topic_name, partition) == (caught.value.where.topic, caught.value.where.partition)
    writer.close()


def test_missing_topic_fails_at_the_call_and_is_not_created(
    broker: KafkaBroker, topic_name: str
) -> None:
    kafka = Kafka(broker.bootstrap)
    writer = kafka.writer()
    with pytest.raises(UnknownTopicError):
        writer.write(topic_name, 0, b"k", b"v", 1)
    writer.close()
    assert topic_name not in kafka.admin().topics()


def test_record_that_kafka_cannot_store_is_rejected(broker: KafkaBroker, topic_name: str) -> None:
    broker.create_topic(topic_name, config={"max.message.bytes": "1000"})
    writer = Kafka(broker.bootstrap, producer={"compression.type": "none"}).writer()
    with pytest.raises(RecordRefusedError, match="timestamp 0 ms"):
        writer.write(topic_name, 0, b"k", b"v", 0)
    with pytest.raises(RecordRefusedError) as caught:
        writer.write(topic_name, 0, b"k", bytes(2_000_000), 1)
    assert caught.value.code == "MSG_SIZE_TOO_LARGE"
    late = writer.write(topic_name, 0, b"late", bytes(2_000), 1)
    with pytest.raises(RecordRefusedError) as caught:
        late.result(30)
    assert (caught.value.where.topic, caught.value.where.key) == (topic_name, b"late")
    with pytest.raises(RecordRefusedError):
        writer.flush()
    writer.flush()  # a failure is raised once
    writer.close()


def test_closed_writer_rejects_writes(broker: KafkaBroker, topic_name: str) -> None:
    broker.create_topic(topic_name)
    writer = Kafka(broker.bootstrap).writer()
    future = writer.write(topic_name, 0, b"k", b"v", 1)
    writer.close()
    writer.close()
    assert future.result(0).offset == 0
    with pytest.raises(ExecutionError, match="closed"):
        writer.write(topic_name, 0, b"k", b"v", 1)


def write_one(broker: KafkaBroker, topic: str) -> None:
    writer = Kafka(broker.bootstrap).writer()
    writer.write(topic, 0, b"k", b"v", 1)
    writer.close()


def test_closed_writers_leave_no_thread(broker: KafkaBroker, topic_name: str) -> None:
    broker.create_topic(topic_name)
    gc.collect()
    before = len(list(Path("/proc/self/task").iterdir()))
    for _ in range(5):
        write_one(broker, topic_name)
    gc.collect()
    deadline = time.monotonic() + 30
    while len(list(Path("/proc/self/task").iterdir())) > before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(list(Path("/proc/self/task").iterdir())) <= before


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_writer_writes_to_sasl_listener(
    broker: KafkaBroker, topic_name: str, mechanism: str
) -> None:
    broker.create_topic(topic_name)
    writer = sasl(broker, mechanism).writer()
    assert writer.write(topic_name, 0, b"k", b"v", 1).result(30).offset == 0
    writer.close()
    assert len(read_all(sasl(broker, mechanism), topic_name)) == 1


def test_option_rejected_by_client_raises_options_error() -> None:
    with pytest.raises(KafkaOptionsError, match="producer options are refused"):
        Kafka("127.0.0.1:9", producer={"no.such.option": 1}).writer()


@pytest.mark.kill
def test_dead_broker_fails_futures_and_flush_in_bounded_time(
    tmp_path: Path, topic_name: str
) -> None:
    with KafkaBroker(tmp_path) as own:
        own.create_topic(topic_name)
        writer = Kafka(own.bootstrap, producer={"message.timeout.ms": 2_000}).writer()
        writer.write(topic_name, 0, b"k", b"v", 1).result(30)
        own.kill()
        future = writer.write(topic_name, 0, b"lost", b"v", 1)
        with pytest.raises(DeliveryError, match=own.bootstrap):
            writer.flush()
        with pytest.raises(DeliveryError) as caught:
            future.result(20)
        assert (topic_name, 0, b"lost") == (
            caught.value.where.topic,
            caught.value.where.partition,
            caught.value.where.key,
        )
        own.restart()
        assert writer.write(topic_name, 0, b"k", b"v", 1).result(60).offset == 1
        writer.close()
