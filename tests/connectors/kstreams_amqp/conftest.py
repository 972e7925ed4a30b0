"""A queue of the broker for each test."""

from __future__ import annotations

import pytest

from devtools.servers.rabbit import RabbitServer
from tests.connectors.kstreams_amqp.queues import Place


@pytest.fixture
def place(rabbit: RabbitServer) -> Place:
    """A queue for the test only."""
    return Place(rabbit.url)
