"""A pool with workers whose answers a test gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kstreams.workers.puppets import Stand


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[int], Stand]]:
    made: list[Stand] = []

    def make(size: int) -> Stand:
        made.append(Stand(tmp_path, size))
        return made[-1]

    yield make
    for stand in made:
        stand.close()
