"""A queue of the broker, for a test alone."""

from __future__ import annotations

import pytest

from devtools.servers.rabbit import RabbitServer
from tests.connectors.kstreams_amqp.places import Place


@pytest.fixture
def place(rabbit: RabbitServer) -> Place:
    """A queue that the test has alone."""
    return Place(rabbit.url)
