"""Requests during leader changes, simulated because a real cluster does not reproduce them."""

from __future__ import annotations

from concurrent.futures import Future
from datetime import timedelta

import pytest

from kstreams.errors import KafkaRequestError
from kstreams_kafka.client_options import ClientOptions
from kstreams_kafka.connection import AdminConnection
from kstreams_kafka.librdkafka import KafkaError, KafkaException


def connection(timeout: timedelta) -> AdminConnection:
    return AdminConnection(ClientOptions({"bootstrap.servers": "127.0.0.1:1"}), timeout)


def answered(offset: int) -> Future[int]:
    future: Future[int] = Future()
    future.set_result(offset)
    return future


def refused(code: int) -> Future[int]:
    future: Future[int] = Future()
    future.set_exception(KafkaException(KafkaError(code)))
    return future


def test_request_is_retried_until_each_partition_leader_answers() -> None:
    rounds = [
        {0: answered(2), 1: refused(KafkaError._TRANSPORT)},
        {0: answered(3), 1: refused(KafkaError.NOT_LEADER_FOR_PARTITION)},
        {0: answered(4), 1: refused(KafkaError.LEADER_NOT_AVAILABLE)},
        {0: answered(5), 1: answered(6)},
    ]
    assert connection(timedelta(minutes=1)).ask(lambda: rounds.pop(0), "t") == {0: 5, 1: 6}


def test_leader_missing_until_timeout_raises_error() -> None:
    rounds = [{0: refused(KafkaError.NOT_LEADER_FOR_PARTITION)}]
    with pytest.raises(KafkaRequestError) as caught:
        connection(timedelta(seconds=-1)).ask(lambda: rounds[0], "t")
    assert caught.value.code == "NOT_LEADER_FOR_PARTITION"


def test_permanent_error_of_leader_is_not_retried() -> None:
    rounds = [{0: refused(KafkaError.TOPIC_AUTHORIZATION_FAILED)}]
    with pytest.raises(KafkaRequestError) as caught:
        connection(timedelta(minutes=1)).ask(lambda: rounds.pop(0), "t")
    assert caught.value.code == "TOPIC_AUTHORIZATION_FAILED"
