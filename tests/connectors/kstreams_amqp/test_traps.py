"""The common sink tests on an exchange of AMQP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, ClassVar
from urllib.parse import quote

import pytest

from kstreams.sinks import Sink
from kstreams_amqp import AmqpExchange
from tests.connectors.kstreams_amqp.queues import Place
from tests.support.sinks.common_sink_tests import SECRET, Address, SinkTraps, address_of

pytestmark = pytest.mark.connectors


class TestExchange(SinkTraps):
    bad: ClassVar[Mapping[str, object]] = {
        "too large": 1_000,
        "for no queue": -1,
    }
    keeps_last = False
    at_least_once = True

    @pytest.fixture(autouse=True)
    def _place(self, place: Place) -> None:
        self.place = place

    def address(self) -> Address:
        return address_of(self.place.url)

    def sink(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        url = f"amqp://guest:guest@{address[0]}:{address[1]}/"
        return AmqpExchange(
            url,
            "",
            body=_body,
            routing_key=lambda _key, n: self.place.queue if n >= 0 else "nobody",
            max_bytes=50,
            give_up_after=give_up_after,
        )

    def with_secret(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        url = f"amqp://app:{quote(SECRET, safe='')}@{address[0]}:{address[1]}/"
        return AmqpExchange(url, "", body=_body, give_up_after=give_up_after)

    def seen(self) -> Iterable[tuple[str, Any]]:
        return self.place.seen()


def _body(key: str, value: int) -> bytes:
    return f"{key}={value}{' ' * (100 if value >= 1000 else 0)}".encode()
