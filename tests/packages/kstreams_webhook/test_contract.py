"""A webhook passes the test suite for intakes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from kstreams.intakes import Intake
from kstreams.testing import IntakeContract
from tests.support.intakes.webhook_senders import SECRET, Retrying, hook


class TestWebhook(IntakeContract):
    secret = SECRET

    @pytest.fixture(autouse=True)
    def _place(self) -> Iterator[None]:
        self.hook = hook()
        self.senders: list[Retrying] = []
        yield
        for sender in self.senders:
            sender.stop()

    def make(self) -> Intake:
        return self.hook

    def send(self, messages: Sequence[tuple[str, bytes]]) -> None:
        self.senders.append(Retrying(self.hook.port, messages))
