"""The source passes the test suite for logs, and the sink the one for sinks, on a real broker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from devtools.servers.rabbit import RabbitServer
from kstreams import Record
from kstreams.sinks import Sink
from kstreams.sources import Log
from kstreams.testing import LogContract, SinkContract
from tests.support.sinks.rabbitmq_streams import Place

pytestmark = pytest.mark.connectors


class TestStream(LogContract[None, str]):
    @pytest.fixture(autouse=True)
    def _place(self, place: Place) -> None:
        self.place = place

    def make(self) -> Log[None, str]:
        return self.place.log()

    def add(self, values: Sequence[str]) -> None:
        self.place.add(*(value.encode() for value in values))


class TestSuperStream(LogContract[None, str]):
    @pytest.fixture(autouse=True)
    def _place(self, rabbit: RabbitServer) -> None:
        self.parts = [Place(rabbit.stream_url, rabbit.url) for _ in range(2)]
        self.place = self.parts[0]
        self.name = self.place.bind(*self.parts[1:])

    def make(self) -> Log[None, str]:
        return self.place.log(stream=self.name, super_stream=True)

    def add(self, values: Sequence[str]) -> None:
        for number, part in enumerate(self.parts):
            part.add(*(value.encode() for value in values[number :: len(self.parts)]))


class TestSink(SinkContract):
    keeps_last = False
    bad = Record("a", 1_000, 5)

    @pytest.fixture(autouse=True)
    def _place(self, place: Place) -> None:
        self.place = place

    def make(self) -> Sink[str, int]:
        return self.place.sink()

    def seen(self) -> Iterable[tuple[str, int]]:
        return self.place.seen()
