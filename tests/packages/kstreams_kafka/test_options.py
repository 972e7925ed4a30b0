"""`Kafka` validates its settings, can be pickled and hides secrets."""

from __future__ import annotations

import pickle
from traceback import format_exception
from typing import Any

import pytest

from kstreams.errors import KafkaOptionsError, OptionError
from kstreams_kafka.options import Kafka

KAFKA = Kafka(
    "one:9092, [::1]:9093",
    {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "me",
     "sasl.password": "hunter2"},
    consumer={"fetch.max.bytes": 1000},
    producer={"linger.ms": 5, "sasl.password": "hunter4"},
)  # fmt: skip


def test_repr_and_str_of_settings_hide_secrets() -> None:
    again = pickle.loads(pickle.dumps(KAFKA))
    shown = [f"{it!r} {it} {it.options} {it.producer!r}" for it in (KAFKA, again)]
    shown += [repr(KAFKA.client_options("producer"))]
    for text in shown:
        assert "hunter" not in text
        assert "[redacted]" in text
        assert "SASL_SSL" in text


def test_pickled_settings_are_equal_and_complete() -> None:
    again = pickle.loads(pickle.dumps(KAFKA))
    assert again == KAFKA
    assert hash(again) == hash(KAFKA)
    assert again.client_options()["sasl.password"] == "hunter2"
    assert Kafka("one:9092") != KAFKA


def test_settings_are_independent_of_given_mapping() -> None:
    given = {"client.id": "a"}
    kafka = Kafka("one:9092", given)
    given["client.id"] = "b"
    assert kafka.client_options()["client.id"] == "a"


def test_consumer_producer_and_admin_get_options_of_their_role() -> None:
    common = {
        "bootstrap.servers": "one:9092, [::1]:9093",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": "hunter2",
    }
    assert common == KAFKA.client_options()
    assert {**common, "fetch.max.bytes": "1000"} == KAFKA.client_options("consumer")
    assert {**common, "linger.ms": "5", "sasl.password": "hunter4"} == KAFKA.client_options(
        "producer"
    )


@pytest.mark.parametrize("bootstrap", ["", "host", "host:", "host:9092,", "a b:1", "host:9092:1"])
def test_address_without_host_and_port_is_rejected(bootstrap: str) -> None:
    with pytest.raises(KafkaOptionsError, match="is not host:port"):
        Kafka(bootstrap)


@pytest.mark.parametrize(
    "bootstrap",
    [
        "user:hunter2@host:9092",
        "hunter2@host:9092",
        "SASL_SSL://user:hunter2@host:9092",
        "https://host:9092/?key=hunter2",
        "host:9092?hunter2",
        "one:9092,user:hunter2@host:9092",
        "host:9092#hunter2",
        "user:hunter2!@host",
    ],
)
def test_password_in_address_is_rejected_and_hidden(bootstrap: str) -> None:
    with pytest.raises(KafkaOptionsError, match="is not host:port") as caught:
        Kafka(bootstrap)
    assert "hunter2" not in "".join(format_exception(caught.value, chain=True)[-1:])
    assert "hunter2" not in f"{caught.value} {caught.value!r} {vars(caught.value)}"
    assert "sasl.password" in caught.value.hint


@pytest.mark.parametrize("bootstrap", ["h:1", "SSL://h:1", "a.b-c_d:9092,10.0.0.1:9092", "[::1]:9"])
def test_address_with_host_and_port_is_accepted(bootstrap: str) -> None:
    assert bootstrap == Kafka(bootstrap).bootstrap


@pytest.mark.parametrize("name", ["auto.offset.reset", "bootstrap.servers", "partitioner"])
def test_client_option_set_by_library_is_refused(name: str) -> None:
    with pytest.raises(KafkaOptionsError, match=f"{name} in consumer is set by kstreams"):
        Kafka("one:9092", consumer={name: "x"})


@pytest.mark.parametrize("name", ["sasl.jaas.config", "ssl.truststore.location"])
@pytest.mark.parametrize("place", ["options", "consumer", "producer"])
def test_client_option_of_java_client_is_refused(name: str, place: str) -> None:
    given: dict[str, Any] = {place: {name: "hunter2"}}
    with pytest.raises(KafkaOptionsError, match="only of Kafka's Java client") as caught:
        Kafka("one:9092", **given)
    assert name == caught.value.option
    assert "hunter2" not in str(caught.value)


def test_delivery_is_setting_of_kafka_and_no_client_option() -> None:
    kafka = Kafka("broker:9092", delivery="exactly-once")
    assert repr(kafka) == "Kafka('broker:9092', delivery='exactly-once')"
    assert "delivery" not in kafka.client_options("producer")
    assert Kafka("broker:9092").delivery == "at-least-once"
    with pytest.raises(OptionError, match="delivery is 'once'"):
        Kafka("broker:9092", delivery="once")  # type: ignore[arg-type]  # the invalid argument
