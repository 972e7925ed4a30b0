"""Answers of the admin client that a real broker gives only at moments that no test can choose."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from datetime import timedelta

import pytest

from kstreams.errors import BrokerUnavailableError
from kstreams_kafka.client_options import ClientOptions
from kstreams_kafka.connection import AdminConnection
from kstreams_kafka.librdkafka import OFFSET_INVALID, ListOffsetsResultInfo


def _connection(timeout_s: float) -> AdminConnection:
    options = ClientOptions({"bootstrap.servers": "127.0.0.1:1"})
    return AdminConnection(options, timedelta(seconds=timeout_s))


def _offset(offset: int) -> Future[ListOffsetsResultInfo]:
    future: Future[ListOffsetsResultInfo] = Future()
    future.set_result(ListOffsetsResultInfo(offset, -1, -1))
    return future


def test_query_is_repeated_if_client_returns_invalid_offset() -> None:
    answers: Iterator[Future[ListOffsetsResultInfo]] = map(_offset, (OFFSET_INVALID, 400))
    found = _connection(10).ask(lambda: {0: next(answers)}, "words")
    assert found[0].offset == 400


def test_query_fails_if_client_returns_invalid_offset_until_timeout() -> None:
    with pytest.raises(BrokerUnavailableError, match="no offset for a partition of topic 'words'"):
        _connection(0.1).ask(lambda: {0: _offset(OFFSET_INVALID)}, "words")
