"""The server's database for each test."""

from __future__ import annotations

import pytest

from devtools.servers.redis import RedisServer
from tests.support.sinks.redis_database import Place


@pytest.fixture
def redis(redis_server: RedisServer) -> Place:
    """A database that is empty at the test's start."""
    return Place(redis_server.url)
