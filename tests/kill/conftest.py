"""Fixtures of all tests with a `killed_app`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kill.killed_app import KilledApp


@pytest.fixture
def victims() -> Iterator[list[KilledApp]]:
    """A list for the apps of a test, whose processes are ended after it."""
    made: list[KilledApp] = []
    yield made
    for killed_app in made:
        killed_app.end()
