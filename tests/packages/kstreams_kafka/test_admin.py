"""Kafka topics are created, described, counted and deleted."""

from __future__ import annotations

import subprocess
import sys
import traceback
from collections.abc import Iterator
from datetime import timedelta

import pytest
from confluent_kafka import Producer

from devtools.servers.kafka import KafkaBroker
from kstreams.errors import (
    BrokerUnavailableError,
    KafkaOptionsError,
    KafkaRequestError,
    TopicExistsError,
    UnknownTopicError,
)
from kstreams_kafka.admin import KafkaAdmin
from kstreams_kafka.options import Kafka
from tests.support.servers.fixtures import Broker

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

NOWHERE = "127.0.0.1:9"
SHORT = timedelta(seconds=3)


@pytest.fixture
def admin(broker: KafkaBroker) -> KafkaAdmin:
    return KafkaAdmin(Kafka(broker.bootstrap).client_options())


@pytest.fixture
def topic(broker: KafkaBroker, admin: KafkaAdmin, topic_name: str) -> Iterator[str]:
    """A topic with two partitions: offsets 0 to 4 at times 1000, 1010 ...

    1040, and an empty one.
    """
    admin.create(topic_name, 2, config={"retention.ms": "-1"})
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for n in range(5):
        producer.produce(topic_name, b"v", b"k", partition=0, timestamp=1000 + 10 * n)
    assert producer.flush(30) == 0
    yield topic_name
    admin.delete(topic_name)


def sasl(broker: KafkaBroker, mechanism: str = "PLAIN", password: str | None = None) -> Kafka:
    return Kafka(
        broker.sasl_bootstrap,
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": broker.username,
            "sasl.password": password or broker.password,
        },
    )


def test_created_topic_is_described_and_deleted_topic_is_gone(
    any_broker: Broker, topic_name: str
) -> None:
    admin = KafkaAdmin(Kafka(any_broker.bootstrap).client_options())
    admin.create(topic_name, 3, replication_factor=1, config={"cleanup.policy": "compact"})
    description = admin.describe(topic_name)
    assert (topic_name, 3, 1) == (
        description.name,
        description.partitions,
        description.replication_factor,
    )
    assert description.config["cleanup.policy"] == "compact"
    assert topic_name in admin.topics()
    admin.delete(topic_name)
    assert topic_name not in admin.topics()
    with pytest.raises(UnknownTopicError):
        admin.partition_count(topic_name)


def test_create_of_existing_topic_raises_and_keeps_it(admin: KafkaAdmin, topic: str) -> None:
    with pytest.raises(TopicExistsError) as caught:
        admin.create(topic, 7)
    assert topic == caught.value.where.topic
    assert admin.partition_count(topic) == 2


@pytest.mark.parametrize(
    ("name", "partitions", "config"),
    [
        pytest.param("a b", 1, {}, id="name"),
        pytest.param("ok", 0, {}, id="partition count"),
        pytest.param("ok", 1, {"no.such.setting": "1"}, id="setting"),
        pytest.param("ok", 1, {"retention.ms": "soon"}, id="value"),
    ],
)
def test_creation_of_invalid_topic_is_rejected(
    admin: KafkaAdmin, name: str, partitions: int, config: dict[str, str]
) -> None:
    with pytest.raises(KafkaRequestError) as caught:
        admin.create(name, partitions, config=config)
    assert caught.value.code
    assert name not in admin.topics()


def test_offsets_of_topic_are_first_and_committed_end(admin: KafkaAdmin, topic: str) -> None:
    assert admin.beginning_offsets(topic) == {0: 0, 1: 0}
    assert admin.end_offsets(topic) == {0: 5, 1: 0}
    assert admin.end_offsets(topic, committed=False) == {0: 5, 1: 0}


@pytest.mark.parametrize(
    ("timestamp_ms", "expected"),
    [(0, 0), (1000, 0), (1001, 1), (1010, 1), (1040, 4), (1041, 5), (2**40, 5)],
)
def test_offsets_at_time_are_first_offsets_at_or_after_it(
    admin: KafkaAdmin, topic: str, timestamp_ms: int, expected: int
) -> None:
    assert admin.offsets_at(topic, timestamp_ms) == {0: expected, 1: 0}


def test_records_of_open_transaction_are_beyond_committed_end(
    broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name)
    admin = KafkaAdmin(Kafka(broker.bootstrap).client_options())
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic_name})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic_name, b"v", b"k")
    assert producer.flush(30) == 0
    assert admin.end_offsets(topic_name) == {0: 0}
    assert admin.end_offsets(topic_name, committed=False) == {0: 1}
    producer.abort_transaction(30)


def test_unknown_topic_error_suggests_similar_names(admin: KafkaAdmin, topic: str) -> None:
    wrong = f"{topic}x"
    for ask in (
        lambda: admin.partition_count(wrong),
        lambda: admin.end_offsets(wrong),
        lambda: admin.beginning_offsets(wrong),
        lambda: admin.offsets_at(wrong, 0),
        lambda: admin.describe(wrong),
        lambda: admin.delete(wrong),
    ):
        with pytest.raises(UnknownTopicError, match="did you mean") as caught:
            ask()
        assert wrong == caught.value.where.topic
        assert repr(topic) in str(caught.value)
    assert wrong not in admin.topics()


def test_internal_topics_are_listed_only_on_request(broker: KafkaBroker) -> None:
    admin = KafkaAdmin(Kafka(broker.bootstrap).client_options())
    assert not {"__consumer_offsets", "__transaction_state"} & {*admin.topics()}
    assert {*admin.topics()} <= {*admin.topics(internal=True)}


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_admin_connects_with_sasl_options(broker: KafkaBroker, mechanism: str) -> None:
    admin = KafkaAdmin(sasl(broker, mechanism).client_options())
    assert admin.topics() == KafkaAdmin(Kafka(broker.bootstrap).client_options()).topics()


def test_wrong_password_raises_error_that_hides_it(broker: KafkaBroker) -> None:
    admin = KafkaAdmin(sasl(broker, password="hunter2").client_options(), timeout=SHORT)
    with pytest.raises(BrokerUnavailableError, match=r"(?i)authentication") as caught:
        admin.topics()
    assert broker.sasl_bootstrap == caught.value.bootstrap
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    assert "hunter2" not in repr(admin)


@pytest.mark.parametrize("call", ["topics", "partition_count"])
def test_admin_raises_after_timeout_if_broker_does_not_reply(call: str) -> None:
    admin = KafkaAdmin({"bootstrap.servers": NOWHERE}, timeout=timedelta(seconds=2))
    ask = admin.topics if call == "topics" else lambda: admin.partition_count("t")
    with pytest.raises(
        BrokerUnavailableError, match=f"at {NOWHERE}: .*Connection refused"
    ) as caught:
        ask()
    assert "Hint: check" in str(caught.value)


def test_plain_client_on_ssl_listener_raises(broker: KafkaBroker) -> None:
    admin = KafkaAdmin({"bootstrap.servers": broker.ssl_bootstrap}, timeout=SHORT)
    with pytest.raises(BrokerUnavailableError):
        admin.topics()


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"no.such.option": "1"}, id="name"),
        pytest.param({"security.protocol": "no such"}, id="value"),
        pytest.param({"security.protocol": "ssl", "ssl.key.pem": "hunter2"}, id="key"),
    ],
)
def test_option_rejected_by_client_raises_options_error(options: dict[str, str]) -> None:
    with pytest.raises(KafkaOptionsError, match="options are refused") as caught:
        KafkaAdmin({"bootstrap.servers": NOWHERE, **options})
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_import_without_kafka_client_names_extra_to_install() -> None:
    program = "import sys; sys.modules['confluent_kafka'] = None; import kstreams_kafka.admin"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "ImportError: Kafka needs confluent-kafka" in done.stderr
    assert "pip install 'kstreams-spark[kafka]'" in done.stderr
