"""Errors of Kafka survive pickling."""

from __future__ import annotations

import pickle

import pytest

from kstreams.errors import (
    BrokerUnavailableError,
    KafkaOptionsError,
    KafkaRequestError,
    KStreamsError,
    Where,
)


@pytest.mark.parametrize(
    "error",
    [
        BrokerUnavailableError("one:9092", "no route"),
        KafkaOptionsError("wrong", option="sasl.password", hint="mend it"),
        KafkaRequestError("refused", code="POLICY_VIOLATION", where=Where(topic="t")),
    ],
    ids=lambda error: type(error).__name__,
)
def test_kafka_errors_survive_pickling(error: KStreamsError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(error) is type(again)
    assert (str(error), vars(error)) == (str(again), vars(again))
    assert error.message in str(again)
