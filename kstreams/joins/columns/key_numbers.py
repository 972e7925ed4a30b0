"""Number the keys of changes, for keys of any Arrow type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams._types import Ints
from kstreams.serde.objects import objects_of

__all__ = ("KeyNumbers",)


@dataclass(frozen=True)
class KeyNumbers:
    """A number for each distinct key, in the order of first occurrence.

    Attributes:
        codes: The number of each row's key.
        count: The number of distinct keys.
    """

    codes: Ints
    count: int

    @classmethod
    def of(cls, keys: pa.Array) -> KeyNumbers:
        """Assign numbers to the distinct keys of a column."""
        if not isinstance(keys.type, pa.BaseExtensionType):
            return cls._encoded(keys)
        if pa.types.is_struct(keys.storage.type):  # objects that are equal if their fields are
            return cls._together([cls.of(field) for field in keys.storage.flatten()])
        objects: list[Any] = objects_of(keys)
        known = {key: number for number, key in enumerate(dict.fromkeys(objects))}
        codes = np.fromiter(map(known.__getitem__, objects), np.int64, len(objects))
        return cls(codes, len(known))

    @classmethod
    def _encoded(cls, keys: pa.Array) -> KeyNumbers:
        found = keys.dictionary_encode()
        return cls(found.indices.to_numpy().astype(np.int64), len(found.dictionary))

    @classmethod
    def _together(cls, fields: Sequence[KeyNumbers]) -> KeyNumbers:
        """Assign numbers to the keys of a struct column, from the numbers of its fields' values."""
        found = fields[0]
        for field in fields[1:]:
            found = cls._encoded(pa.array(found.codes * field.count + field.codes))
        return found

    @property
    def are_different(self) -> bool:
        """Return whether all keys are distinct."""
        return self.count == len(self.codes)

    @property
    def first(self) -> Ints:
        """Return the row number of each key's first occurrence, by key number."""
        rows = np.empty(self.count, np.int64)
        rows[self.codes[::-1]] = np.arange(len(self.codes))[::-1]
        return rows

    @property
    def last(self) -> Ints:
        """Return the row number of each key's last occurrence, by key number."""
        rows = np.empty(self.count, np.int64)
        rows[self.codes] = np.arange(len(self.codes))
        return rows

    @property
    def before(self) -> Ints:
        """Return, for each row, the number of the previous row with its key; -1 for none."""
        order = np.argsort(self.codes, kind="stable")
        again = np.flatnonzero(np.diff(self.codes[order]) == 0)
        found = np.full(len(order), -1)
        found[order[again + 1]] = order[again]
        return found
