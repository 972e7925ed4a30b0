"""What all tests with a victim share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kill.victim import Victim


@pytest.fixture
def victims() -> Iterator[list[Victim]]:
    """A list for the apps of a test; what still runs of them is ended after it."""
    made: list[Victim] = []
    yield made
    for victim in made:
        victim.end()
