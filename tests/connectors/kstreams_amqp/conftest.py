"""A RabbitMQ for the whole run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devtools.servers.rabbit import RabbitServer
from devtools.servers.skipping import or_skip
from tests.connectors.kstreams_amqp.places import Place


@pytest.fixture(scope="session")
def rabbit() -> Iterator[RabbitServer]:
    """A server process for the whole run; never stop it."""
    with or_skip(RabbitServer) as running:
        yield running


@pytest.fixture
def place(rabbit: RabbitServer) -> Place:
    """A queue that the test has alone."""
    return Place(rabbit.url)
