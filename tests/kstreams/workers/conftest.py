"""A pool with workers whose answers a test gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kstreams.workers.fake_workers import PoolWithFakes


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[int], PoolWithFakes]]:
    made: list[PoolWithFakes] = []

    def make(size: int) -> PoolWithFakes:
        made.append(PoolWithFakes(tmp_path, size))
        return made[-1]

    yield make
    for fakes in made:
        fakes.close()
