"""An in-memory registry for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devtools.servers.fake_registry import FakeRegistry


@pytest.fixture
def fake() -> Iterator[FakeRegistry]:
    """A registry for one test, on the loopback address."""
    with FakeRegistry() as running:
        yield running
