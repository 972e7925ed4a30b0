"""The Kafka broker of the tests: its records, restarts and listeners."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer
from confluent_kafka.admin import AdminClient

from devtools.servers.kafka import KafkaBroker
from devtools.servers.silent_logger import SILENT
from tests.support.servers.fixtures import Broker

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

HEADERS: list[tuple[str, str | bytes | None]] = [
    ("id", b"1"),
    ("id", b"2"),
    ("empty", b""),
    ("null", None),
]


def write(bootstrap: str, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap}, logger=SILENT)
    for n in range(count):
        producer.produce(
            topic, b"v%d" % n, b"k%d" % n, partition=n % 2, timestamp=1000 + n, headers=HEADERS
        )
    assert producer.flush(30) == 0


def read(bootstrap: str, topic: str, count: int) -> list[Message]:
    settings = {"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest"}
    consumer = Consumer(settings, logger=SILENT)
    consumer.subscribe([topic])
    found: list[Message] = []
    while len(found) < count:
        messages = consumer.consume(count - len(found), 30)
        assert messages, f"only {len(found)} of {count} records arrived"
        found += messages
    consumer.close()
    return sorted(found, key=lambda message: message.timestamp()[1])


def assert_is_written(messages: list[Message]) -> None:
    for n, message in enumerate(messages):
        assert message.error() is None
        assert (b"k%d" % n, b"v%d" % n) == (message.key(), message.value())
        assert n % 2 == message.partition()
        assert 1000 + n == message.timestamp()[1]
        assert message.headers() == HEADERS


def test_test_broker_returns_records_with_timestamps_and_headers(
    any_broker: Broker, topic_name: str
) -> None:
    any_broker.create_topic(topic_name, 2)
    write(any_broker.bootstrap, topic_name, 20)
    assert_is_written(read(any_broker.bootstrap, topic_name, 20))


def test_metadata_request_to_test_broker_creates_no_topics(
    broker: KafkaBroker, topic_name: str
) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap}, logger=SILENT)
    admin.list_topics(topic_name, timeout=10)
    assert topic_name not in admin.list_topics(timeout=10).topics


@pytest.mark.kill
def test_records_survive_kill_of_test_broker(tmp_path: Path, topic_name: str) -> None:
    with KafkaBroker(tmp_path) as own:
        address = own.bootstrap
        own.create_topic(topic_name, 2)
        write(own.bootstrap, topic_name, 20)
        own.kill()
        assert own.pid is None
        own.restart()
        assert address == own.bootstrap
        assert_is_written(read(own.bootstrap, topic_name, 20))


def test_failed_start_of_test_broker_shows_end_of_its_log(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "meta.properties").write_text("version=1\nnode.id=77\n")
    with pytest.raises(RuntimeError, match=r"ended with 1:(.|\n)*cluster\.id was not found"):
        KafkaBroker(tmp_path).start()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_sasl_listener_of_test_broker_accepts_its_user(broker: KafkaBroker, mechanism: str) -> None:
    settings: dict[str, Any] = {
        "bootstrap.servers": broker.sasl_bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": broker.username,
        "sasl.password": broker.password,
    }
    assert AdminClient(settings, logger=SILENT).list_topics(timeout=10).brokers


def test_client_trusts_ssl_listener_of_test_broker_by_its_ca_file(broker: KafkaBroker) -> None:
    settings: dict[str, Any] = {
        "bootstrap.servers": broker.ssl_bootstrap,
        "security.protocol": "SSL",
        "ssl.ca.location": str(broker.ca_file),
    }
    assert AdminClient(settings, logger=SILENT).list_topics(timeout=10).brokers
