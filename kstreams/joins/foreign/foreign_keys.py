"""Foreign keys encoded: as they go over the edge, and as rows begin with them."""

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
    """A foreign key: as it goes over the edge, and as rows begin with it."""

    key: bytes
    prefix: bytes


class ForeignNames(NamedTuple):
    """Distinct foreign keys by number: `binary` arrays of the fields of `Foreign`."""

    keys: pa.Array
    prefixes: pa.Array


class ForeignKeys:
    """Encodes foreign keys, and notes them where equal ones have equal bytes.

    Args:
        way: Serde of the keys on their way to the right table's tasks.
        stored: Serde of the keys in the stores there.
    """

    def __init__(self, way: Serde[Any], stored: Serde[Any]) -> None:
        self._way = way
        self._stored = stored.ordered
        self._prefix = prefixing(stored)
        self._notes = way.hashes_by_bytes and stored.hashes_by_bytes
        self._known: dict[Any, Foreign] = {}

    def encoded(self, key: object) -> Foreign:
        """Return a key's bytes."""
        if not self._notes:
            return Foreign(self._way.serialize(key), self._prefix(key))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Foreign(self._way.serialize(key), self._prefix(key))
        return found

    def forget(self) -> None:
        """Drop the recorded keys."""
        self._known.clear()

    def named(self, keys: Sequence[Any]) -> tuple[Ints, ForeignNames]:
        """Return the number of each key, negative for None, and the bytes of keys by number."""
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
        """Return the numbers and names of encoded keys."""
        numbers, different = _numbered(keys)
        columns = (pa.array([key[part] for key in different], pa.binary()) for part in (0, 1))
        return numbers, ForeignNames(*columns)


def _numbered(keys: Sequence[Any]) -> tuple[Ints, list[Any]]:
    """Return the number of each key, negative for None, and the different keys."""
    different = dict.fromkeys(keys)
    different.pop(None, None)
    known = {key: number for number, key in enumerate(different)}
    known[None] = _NONE
    return np.fromiter(map(known.__getitem__, keys), np.int64, len(keys)), list(different)
