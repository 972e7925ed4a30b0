"""Foreign keys, encoded for messages and as prefixes of row keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kstreams._types import Ints
from kstreams.serde.base import Serde
from kstreams.serde.objects import object_column
from kstreams.state.stores.prefix_free import write_all_prefix_free
from kstreams.state.stores.subscription.rows import prefixing

__all__ = ("Foreign", "ForeignKeys", "ForeignNames")

_NONE = -1


class Foreign(NamedTuple):
    """A foreign key, encoded for a message and as the prefix of row keys."""

    key: bytes
    prefix: bytes


class ForeignNames(NamedTuple):
    """Distinct encoded foreign keys; one `binary` array for each field of `Foreign`."""

    keys: pa.Array
    prefixes: pa.Array


class ForeignKeys:
    """Encodes foreign keys; caches the result if equal keys have equal bytes.

    Args:
        way: Serde of foreign keys in messages to the right table's tasks.
        stored: Serde of foreign keys in the stores of the right table's tasks.
    """

    def __init__(self, way: Serde[Any], stored: Serde[Any]) -> None:
        self._way = way
        self._stored = stored.ordered
        self._prefix = prefixing(stored)
        self._notes = way.hashes_by_bytes and stored.hashes_by_bytes
        self._known: dict[Any, Foreign] = {}

    def encoded(self, key: object) -> Foreign:
        """Encode a foreign key."""
        if not self._notes:
            return Foreign(self._way.serialize(key), self._prefix(key))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Foreign(self._way.serialize(key), self._prefix(key))
        return found

    def forget(self) -> None:
        """Clear the cached keys."""
        self._known.clear()

    def named(self, keys: Sequence[Any]) -> tuple[Ints, ForeignNames]:
        """Return the number of each key (negative for None), and the encoded keys by number."""
        if not self._notes:
            return self.numbered([None if key is None else self.encoded(key) for key in keys])
        ways = self._way.serialize_many(keys).dictionary_encode()
        numbers: Ints = ways.indices.fill_null(_NONE).to_numpy().astype(np.int64)
        different = np.full(len(ways.dictionary), None, object)
        rows = np.flatnonzero(numbers >= 0)
        different[numbers[rows]] = object_column(keys)[rows]
        stored = self._stored.serialize_many(different.tolist())
        return numbers, ForeignNames(ways.dictionary, write_all_prefix_free(stored))

    @staticmethod
    def numbered(keys: Sequence[Foreign | None]) -> tuple[Ints, ForeignNames]:
        """Return the number of each key (negative for None), and the distinct keys by number."""
        numbers, different = _numbered(keys)
        columns = (pa.array([key[part] for key in different], pa.binary()) for part in (0, 1))
        return numbers, ForeignNames(*columns)


def _numbered(keys: Sequence[Any]) -> tuple[Ints, list[Any]]:
    """Return the number of each key (negative for None), and the distinct keys."""
    different = dict.fromkeys(keys)
    different.pop(None, None)
    known = {key: number for number, key in enumerate(different)}
    known[None] = _NONE
    return np.fromiter(map(known.__getitem__, keys), np.int64, len(keys)), list(different)
