"""A table reader for processors: returns the values of a table's rows, without their times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from typing_extensions import override

from kstreams._types import K, V
from kstreams.errors import StoreKindError
from kstreams.state.stores.table_access import TableAccess, VersionedReader

__all__ = ("AccessReader",)


class AccessReader(VersionedReader[K, V]):
    """Implements `VersionedReader` on a task's open store; returns values without their times.

    Args:
        access: The engine's access to the store.
    """

    def __init__(self, access: TableAccess) -> None:
        self._access = access

    @override
    def get(self, key: K) -> V | None:
        row = self._access.get(key)
        return None if row is None else row[0]

    @override
    def get_many(self, keys: Sequence[K]) -> list[V | None]:
        return [None if row is None else row[0] for row in self._access.get_many(keys)]

    @override
    def range(self, start: K | None = None, end: K | None = None) -> Iterator[tuple[K, V]]:
        for key, row in self._access.scan(start, end):
            yield key, row[0]

    def get_as_of(self, key: K, time_ms: int) -> V | None:
        """Return the value of a key at a time (ms since the Unix epoch), or None.

        Raises:
            StoreKindError: The store keeps no history.
        """
        if self._access.get_as_of is None:
            raise StoreKindError(
                "get_as_of needs the earlier values of the table, which its store does not keep",
                hint="define the store with versioned_key_value_store(...).",
            )
        row = self._access.get_as_of(key, time_ms)
        return None if row is None else row[0]
