"""Both intakes pass the test suite for intakes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest

from kstreams.intakes import Intake
from kstreams.testing import IntakeContract
from kstreams_events import EventStream, WebSocket
from tests.connectors.kstreams_events.servers import EventServer, SocketServer

pytestmark = pytest.mark.slow

SOON = timedelta(milliseconds=10)


class TestEventStream(IntakeContract):
    secret = "s3cret"
    resumes = True

    @pytest.fixture(autouse=True)
    def _place(self) -> Iterator[None]:
        self.server = EventServer()
        yield
        self.server.close()

    def make(self) -> Intake:
        headers = {"Authorization": "Bearer s3cret"}
        return EventStream(f"{self.server.url}?token=s3cret", headers=headers, pause=SOON)

    def send(self, messages: Sequence[tuple[str, bytes]]) -> None:
        self.server.send(messages)


class TestWebSocket(IntakeContract):
    secret = "s3cret"
    has_ids = False
    comes_again = False

    @pytest.fixture(autouse=True)
    def _place(self) -> Iterator[None]:
        self.server = SocketServer()
        yield
        self.server.close()

    def make(self) -> Intake:
        headers = {"Authorization": "Bearer s3cret"}
        return WebSocket(f"{self.server.url}?token=s3cret", headers=headers, pause=SOON)

    def send(self, messages: Sequence[tuple[str, bytes]]) -> None:
        self.server.send([value for _, value in messages])
