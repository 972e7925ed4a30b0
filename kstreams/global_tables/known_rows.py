"""A cache of the rows of a table version, for later batches that read the same version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from kstreams.state.stores.table_access import Row, TableAccess

__all__ = ("KnownRows",)

_MISSING: Final = object()
_MOST = 250_000


class KnownRows:
    """Caches rows of a table version.

    The rows must be immutable, and two keys must be equal if and only if their bytes are equal.

    Args:
        access: Reads the version without the cache.

    Attributes:
        access: Reads the version through the cache.
    """

    def __init__(self, access: TableAccess) -> None:
        self._read = access
        self._known: dict[Any, Row | None] = {}
        self.access = replace(access, get=self._get, get_many=self._get_many)

    def trim(self) -> None:
        """Clear the cache if it has more than 250,000 rows."""
        if len(self._known) > _MOST:
            self._known.clear()

    def _get(self, key: Any) -> Row | None:  # noqa: ANN401  # erased types
        found: Any = self._known.get(key, _MISSING)
        if found is _MISSING:
            found = self._known[key] = self._read.get(key)
        return found  # type: ignore[no-any-return]  # as above

    def _get_many(self, keys: Sequence[Any]) -> list[Row | None]:
        known = self._known
        unknown = [key for key in dict.fromkeys(keys) if key not in known]
        if unknown:
            known.update(zip(unknown, self._read.get_many(unknown), strict=True))
        return list(map(known.__getitem__, keys))
