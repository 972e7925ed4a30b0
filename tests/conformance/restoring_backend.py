"""A state backend for tests that keeps only a durable log: each batch begins by restoring it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kstreams.state.backend.memory import Memory
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings
from kstreams.state.backend.task_key import TaskKey, new_attempt
from kstreams.state.backend.working import Changes
from kstreams.state.log.durable import Attempt
from kstreams.state.log.pointer import Pointer
from kstreams.state.versions.checkout import Checkout
from kstreams.state.versions.versions import TaskVersions


@dataclass(frozen=True)
class DurableState:
    """A backend of the test driver whose batches find no local state.

    Args:
        log: The durable log for deltas and snapshots.
    """

    log: ObjectStoreSettings
    directory: str | None = None

    @property
    def name(self) -> str:
        return "durable"

    def open(self, directory: Path, stores: Sequence[str]) -> DurableStore:
        return DurableStore(self.log.open(), directory, stores)

    def branch(self, source: Path, target: Path) -> bool:
        return False

    def remove(self, directory: Path) -> None:
        pass


class DurableStore:
    """A working store that is restored from the log after each batch."""

    def __init__(self, log: ObjectStore, directory: Path, stores: Sequence[str]) -> None:
        self._log = log
        self._directory = directory
        self._stores = stores
        self._key = TaskKey(f"conformance-{uuid.uuid4().hex}", "case", 0)
        self._batch = 0
        self._checkout = self._restored(Pointer.empty())

    def get(self, store: str, key: bytes) -> bytes | None:
        return self._checkout.store.get(store, key)

    def multi_get(self, store: str, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._checkout.store.multi_get(store, keys)

    def scan(
        self, store: str, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        return self._checkout.store.scan(store, start, end, reverse=reverse)

    def count(self, store: str) -> int:
        return self._checkout.store.count(store)

    def write(self, changes: Changes) -> None:
        """Commit the changes, discard the local state, and restore it."""
        self._batch += 1
        self._checkout = self._restored(self._checkout.commit(changes, {}))

    def close(self) -> None:
        self._checkout.abort()

    def _restored(self, pointer: Pointer) -> Checkout:
        home = self._directory / str(self._batch)  # has no local version
        versions = TaskVersions(Memory(), home, self._log, self._key, self._stores)
        return versions.checkout(pointer, Attempt(new_attempt(), self._batch))
