"""Fixtures: the server, a bucket, and a unique prefix for each test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from devtools.servers.fault_proxy import FaultProxy
from devtools.servers.gcs import GcsBucket, GcsServer
from devtools.servers.skipping import or_skip


@pytest.fixture(scope="session")
def gcs_server() -> Iterator[GcsServer]:
    """A server for the whole run; never stop it."""
    with or_skip(GcsServer) as server:
        yield server


@pytest.fixture(scope="session")
def gcs(gcs_server: GcsServer) -> GcsBucket:
    return GcsBucket(gcs_server.url, f"tests-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def prefix() -> str:
    return uuid.uuid4().hex


@pytest.fixture
def proxy(gcs_server: GcsServer) -> Iterator[FaultProxy]:
    with FaultProxy(gcs_server.address) as running:
        yield running
