"""Both backends for tests of typed stores, and commits between changes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kstreams.state.backend.memory import Memory
from kstreams.state.backend.working import StateBackend
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.times import Times
from kstreams.state.stores.spec import StoreSpec
from kstreams_rocksdb import RocksDB

BACKENDS = pytest.mark.parametrize(
    "backend",
    [
        pytest.param(Memory(), id="memory"),
        pytest.param(RocksDB(), id="rocksdb", marks=pytest.mark.slow),
    ],
)


class Held:
    """A store that is committed and reopened between batches."""

    def __init__(self, spec: StoreSpec[Any], base: Any, times: Times | None) -> None:
        self._spec = spec
        self._base = base
        self._times = times
        self.begin()

    def begin(self) -> None:
        self.overlay = Overlay(self._base, times=self._times)
        self.live: Any = self._spec.open(self.overlay)

    def commit(self) -> None:
        self._base.write(self.overlay.changes())
        self.begin()

    def rows(self) -> list[tuple[bytes, bytes]]:
        self._base.write(self.overlay.changes())
        self.overlay.committed()
        return list(self._base.scan(self._spec.name, None, None))


@contextmanager
def held(spec: StoreSpec[Any], backend: StateBackend, times: Times | None = None) -> Iterator[Held]:
    home = Path(tempfile.mkdtemp(prefix="typed-stores-"))
    base = backend.open(home / "s", [spec.name])
    try:
        yield Held(spec, base, times)
    finally:
        base.close()
        backend.remove(home / "s")
        shutil.rmtree(home)
