"""Google's emulator for the whole run, and a table for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devtools.servers.bigtable import BigtableServer
from devtools.servers.skipping import chosen, or_skip
from tests.connectors.kstreams_bigtable.tables import Place


@pytest.fixture(scope="session")
def bigtable() -> Iterator[BigtableServer]:
    """A server process for the whole run; never stop it."""
    with or_skip(chosen(BigtableServer)) as running:
        yield running


@pytest.fixture
def place(bigtable: BigtableServer) -> Place:
    """A table for the test only."""
    return Place(bigtable.endpoint)
