"""A closed database that several processes read at the same time."""

from __future__ import annotations

from typing import NoReturn

from kstreams.errors import StoreError
from kstreams.state import Changes
from kstreams_rocksdb.store import RocksStore

__all__ = ("SharedStore",)


class SharedStore(RocksStore):
    """A database that is open for reading only; created by `RocksDB.open_shared`."""

    def write(self, changes: Changes) -> NoReturn:
        """Reject the changes.

        Raises:
            StoreError: Always.
        """
        raise StoreError(f"the RocksDB store {self._directory} is open for reading only")

    def close(self) -> None:
        """Release the directory, which stays unchanged; a second call does nothing."""
        self._let_go()
