"""The server, and a database for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devtools.servers.mongodb import MongoServer
from devtools.servers.skipping import chosen, or_skip
from tests.connectors.kstreams_mongodb.collections import Place


@pytest.fixture(scope="session")
def mongo() -> Iterator[MongoServer]:
    """A server process for the whole run; never stop it."""
    with or_skip(chosen(MongoServer)) as server:
        yield server


@pytest.fixture
def place(mongo: MongoServer) -> Iterator[Place]:
    """A database of a test."""
    made = Place(mongo.url)
    yield made
    made.close()
