"""A registry in memory for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devtools.servers.fake_registry import FakeRegistry


@pytest.fixture
def fake() -> Iterator[FakeRegistry]:
    """A registry of the test's own, on loopback."""
    with FakeRegistry() as running:
        yield running
