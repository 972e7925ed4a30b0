"""The server, and a table for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devtools.servers.dynamodb import DynamoServer
from devtools.servers.skipping import chosen, or_skip
from tests.connectors.kstreams_dynamodb.tables import Tables


@pytest.fixture(scope="session")
def dynamo() -> Iterator[DynamoServer]:
    """A server process for the whole run; never stop it."""
    with or_skip(chosen(DynamoServer)) as server:
        yield server


@pytest.fixture
def tables(dynamo: DynamoServer) -> Tables:
    """Tables of a test."""
    return Tables(dynamo.url)
