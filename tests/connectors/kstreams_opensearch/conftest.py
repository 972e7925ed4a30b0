"""The node, and an index for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devtools.servers.opensearch import OpenSearchServer
from devtools.servers.skipping import chosen, or_skip
from tests.connectors.kstreams_opensearch.indexes import Index


@pytest.fixture(scope="session")
def opensearch() -> Iterator[OpenSearchServer]:
    """A node for the whole run; never stop it."""
    with or_skip(chosen(OpenSearchServer)) as server:
        yield server


@pytest.fixture
def index(opensearch: OpenSearchServer) -> Iterator[Index]:
    """An index of a test."""
    made = Index(opensearch.url)
    yield made
    made.ask("DELETE", "")
