"""A stream of the broker for each test."""

from __future__ import annotations

import pytest

from devtools.servers.rabbit import RabbitServer
from tests.support.sinks.rabbitmq_streams import Place


@pytest.fixture
def place(rabbit: RabbitServer) -> Place:
    """A stream for the test only."""
    return Place(rabbit.stream_url, rabbit.url)
