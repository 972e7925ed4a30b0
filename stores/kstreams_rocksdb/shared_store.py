"""A closed database that is only read, by several processes at once."""

from __future__ import annotations

from typing import NoReturn

from kstreams.errors import StoreError
from kstreams.state import Changes
from kstreams_rocksdb.store import RocksStore

__all__ = ("SharedStore",)


class SharedStore(RocksStore):
    """An open database that is never written; made by `RocksDB.open_shared`."""

    def write(self, changes: Changes) -> NoReturn:
        """Refuse.

        Raises:
            StoreError: Always.
        """
        raise StoreError("a database that was opened for reading was written to")

    def close(self) -> None:
        """Release the directory, which stays unchanged; a second call does nothing."""
        self._let_go()
