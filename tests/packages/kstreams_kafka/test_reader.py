"""Topics of a cluster are read record by record, committed records only."""

from __future__ import annotations

from datetime import timedelta

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from devtools.servers.kafka import KafkaBroker
from kstreams.connection import RawRecord, TopicReader
from kstreams.errors import BrokerUnavailableError, KafkaOptionsError, UnknownTopicError
from kstreams_kafka.options import Kafka
from kstreams_kafka.reader import KafkaReader
from tests.support.kafka.sample_records import sasl

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]


@pytest.fixture
def topic(broker: KafkaBroker, topic_name: str) -> str:
    """A topic with ten records at offsets 0 to 9 of partition 1; partition 0 is empty."""
    broker.create_topic(topic_name, 2)
    writer = Kafka(broker.bootstrap).writer()
    for n in range(10):
        writer.enqueue(topic_name, 1, b"k%d" % n, b"v%d" % n, 1_000 + n, (("n", b"%d" % n),))
    writer.close()
    return topic_name


def offsets(records: list[RawRecord]) -> list[int]:
    return [record.offset for record in records]


def test_records_are_read_with_all_fields(broker: KafkaBroker, topic: str) -> None:
    reader: TopicReader = Kafka(broker.bootstrap).reader()
    found = list(reader.read(topic, 1, 0, 10))
    assert [
        RawRecord(topic, 1, n, 1_000 + n, b"k%d" % n, b"v%d" % n, (("n", b"%d" % n),))
        for n in range(10)
    ] == found
    reader.close()


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, 3, [0, 1, 2]),
        (7, 100, [7, 8, 9]),
        (4, 5, [4]),
        (5, 5, []),
        (6, 2, []),
        (10, 20, []),
        (99, 200, []),
        (-5, 1, [0]),
    ],
)
def test_read_returns_records_between_start_and_end(
    broker: KafkaBroker, topic: str, start: int, end: int, expected: list[int]
) -> None:
    reader = Kafka(broker.bootstrap).reader()
    assert expected == offsets(list(reader.read(topic, 1, start, end)))
    assert list(reader.read(topic, 0, start, end)) == []
    reader.close()


def test_iterators_of_one_reader_are_independent(broker: KafkaBroker, topic: str) -> None:
    reader = Kafka(broker.bootstrap).reader()
    first, second = reader.read(topic, 1, 0, 10), reader.read(topic, 1, 5, 10)
    pairs = [(next(first).offset, next(second).offset) for _ in range(5)]
    assert [(n, n + 5) for n in range(5)] == pairs
    next(first)
    del first  # before the end of the range
    assert offsets(list(reader.read(topic, 1, 0, 10))) == list(range(10))
    reader.close()


def test_deleted_records_are_skipped(broker: KafkaBroker, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.delete_records([TopicPartition(topic, 1, 4)]).values():
        future.result(30)
    reader = Kafka(broker.bootstrap).reader()
    assert offsets(list(reader.read(topic, 1, 0, 10))) == list(range(4, 10))
    reader.close()


def test_records_of_transaction_are_visible_after_commit(
    broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic_name})
    producer.init_transactions(30)
    reader = Kafka(broker.bootstrap).reader()
    own_risk = Kafka(broker.bootstrap, consumer={"isolation.level": "read_uncommitted"}).reader()
    for end in ("abort", "commit"):
        producer.begin_transaction()
        producer.produce(topic_name, end.encode())
        assert producer.flush(30) == 0
        before = [r.value for r in reader.read(topic_name, 0, 0, 100)]
        assert before == []
        if end == "abort":
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)
    assert [r.value for r in reader.read(topic_name, 0, 0, 100)] == [b"commit"]
    assert [r.value for r in own_risk.read(topic_name, 0, 0, 100)] == [b"abort", b"commit"]
    reader.close()
    own_risk.close()


@pytest.mark.parametrize("partition", [-1, 2])
def test_missing_partition_fails_at_the_call(
    broker: KafkaBroker, topic: str, partition: int
) -> None:
    reader = Kafka(broker.bootstrap).reader()
    with pytest.raises(UnknownTopicError, match="expected 0 to 1"):
        reader.read(topic, partition, 0, 1)


def test_missing_topic_fails_at_the_call_and_is_not_created(
    broker: KafkaBroker, topic_name: str
) -> None:
    kafka = Kafka(broker.bootstrap)
    with pytest.raises(UnknownTopicError):
        kafka.reader().read(topic_name, 0, 0, 1)
    assert topic_name not in kafka.admin().topics()


def test_reader_reads_from_sasl_listener(broker: KafkaBroker, topic: str) -> None:
    reader = sasl(broker, "SCRAM-SHA-256").reader()
    assert len(list(reader.read(topic, 1, 0, 10))) == 10
    reader.close()


def test_wrong_password_raises_error_that_hides_it(broker: KafkaBroker, topic: str) -> None:
    wrong = sasl(broker, password="hunter2")
    with pytest.raises(BrokerUnavailableError) as caught:
        KafkaReader(
            wrong.client_options("consumer"),
            wrong.client_options(),
            timeout=timedelta(seconds=3),
        ).read(topic, 1, 0, 10)
    assert "hunter2" not in str(caught.value)


def test_option_rejected_by_client_raises_options_error(broker: KafkaBroker, topic: str) -> None:
    kafka = Kafka(broker.bootstrap, consumer={"no.such.option": 1})
    with pytest.raises(KafkaOptionsError, match="consumer options are refused"):
        kafka.reader().read(topic, 1, 0, 1)
