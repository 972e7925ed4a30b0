"""The node, and a keyspace for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devtools.servers.cassandra import CassandraServer
from devtools.servers.skipping import chosen, or_skip
from tests.connectors.kstreams_cassandra.tables import Keyspaces, Place


@pytest.fixture(scope="session")
def cassandra() -> Iterator[Keyspaces]:
    """A node for the whole run, with a session; never stop it."""
    with or_skip(chosen(CassandraServer)) as server:
        made = Keyspaces(*server.address)
        yield made
        made.close()


@pytest.fixture
def place(cassandra: Keyspaces) -> Place:
    """Tables of a test."""
    return cassandra.new_place()
