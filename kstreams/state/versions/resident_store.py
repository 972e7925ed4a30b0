"""A working store that keeps a small state in memory, and opens no database until it grows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from typing_extensions import override

from kstreams.errors import StoreError
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.backend.working import Changes, StoreChanges, WorkingStore
from kstreams.state.versions.change_buffer import memory_of

__all__ = ("RESIDENT_BYTES", "ResidentStore")

RESIDENT_BYTES = 1024 * 1024
"""The maximum memory of a resident state. An open database takes 1 MiB and ten files."""


class ResidentStore(WorkingStore):
    """The state of a task in memory; a write that exceeds the limit moves it into a database.

    The durable log has the rows that the store begins with, so nothing is written to the disk
    before `write` changes them. Then `close` writes all rows to a database.

    Args:
        rows: The rows of the state.
        stores: The names of the stores.
        most_bytes: The maximum memory of the rows, approximately.
        open_database: Opens an empty database for the rows.

    Attributes:
        size_bytes: The approximate memory of the rows, at least. Overwritten and deleted rows count
            until `fits` counts the rows again.
    """

    def __init__(
        self,
        rows: MemoryStore,
        stores: Sequence[str],
        most_bytes: int,
        open_database: Callable[[], WorkingStore],
    ) -> None:
        self._rows = rows
        self._stores = tuple(stores)
        self._most_bytes = most_bytes
        self._open_database = open_database
        self._database: WorkingStore | None = None
        self._changed = False
        self.size_bytes = memory_of(self._contents())

    @property
    def resident(self) -> bool:
        """Whether all rows are in memory."""
        return self._database is None

    def fits(self, changes: Changes) -> bool:
        """Return whether the rows fit into memory together with changes."""
        if not self.resident:
            return False
        room = self._most_bytes - memory_of(changes)
        if self.size_bytes > room >= 0:
            self.size_bytes = memory_of(self._contents())
        return self.size_bytes <= room

    def apply(self, changes: Changes, size_bytes: int) -> None:
        """Apply committed changes that fit in memory; `close` does not write them to the disk.

        Args:
            changes: The changes.
            size_bytes: Their approximate memory.
        """
        self.size_bytes += size_bytes
        self._rows.write(changes)

    def copy(self, changes: Changes) -> MemoryStore:
        """Return a copy of the rows in memory, with changes."""
        copied = self._rows.copy()
        copied.write(changes)
        return copied

    @override
    def get(self, store: str, key: bytes) -> bytes | None:
        return self._open.get(store, key)

    @override
    def multi_get(self, store: str, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._open.multi_get(store, keys)

    @override
    def scan(
        self, store: str, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        return self._open.scan(store, start, end, reverse=reverse)

    @override
    def count(self, store: str) -> int:
        return self._open.count(store)

    @override
    def write(self, changes: Changes) -> None:
        if not self.fits(changes):
            self._to_database().write(changes)
            return
        self._changed = True
        self.apply(changes, memory_of(changes))

    def close(self) -> None:
        """Write the rows to a database if `write` has changed them; a second call does nothing."""
        try:
            if self._changed:
                self._to_database()
        finally:
            self._changed = False
            self._open.close()

    def discard(self) -> None:
        """Close the store without writing its rows to the disk."""
        self._changed = False
        self._open.close()

    @property
    def _open(self) -> WorkingStore:
        return self._rows if self._database is None else self._database

    def _to_database(self) -> WorkingStore:
        """Move the rows to a new database, if they are in memory, and return the database."""
        if self._database is None:
            database = self._open_database()
            try:
                database.write(self._contents())
            except BaseException:
                with suppress(StoreError):  # the error that led here says more
                    database.close()
                raise
            self._rows.close()
            self._database, self._changed = database, False
        return self._database

    def _contents(self) -> Changes:
        """Return all rows in memory, as the changes of an empty store."""
        rows = {store: list(self._rows.scan(store, None, None)) for store in self._stores}
        return {store: StoreChanges(pairs) for store, pairs in rows.items() if pairs}
