"""The intake passes the test suite for intakes, and the sink the one for sinks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from kstreams import Record
from kstreams.intakes import Intake
from kstreams.sinks import Sink
from kstreams.testing import IntakeContract, SinkContract
from tests.connectors.kstreams_amqp.queues import Place

pytestmark = pytest.mark.connectors


class TestQueue(IntakeContract):
    secret = "guest:guest"

    @pytest.fixture(autouse=True)
    def _place(self, place: Place) -> None:
        self.place = place

    def make(self) -> Intake:
        return self.place.intake(prefetch=5)

    def send(self, messages: Sequence[tuple[str, bytes]]) -> None:
        self.place.publish(*messages)


class TestExchange(SinkContract):
    keeps_last = False
    bad = Record("a", 1_000, 5)

    @pytest.fixture(autouse=True)
    def _place(self, place: Place) -> None:
        self.place = place

    def make(self) -> Sink[str, int]:
        return self.place.exchange()

    def seen(self) -> Iterable[tuple[str, int]]:
        return self.place.seen()
