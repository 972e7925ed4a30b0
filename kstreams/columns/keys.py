"""Distinct keys of a batch, numbered."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.serde.base import Serde
from kstreams.serde.encoded_type import EncodedType
from kstreams.serde.numbers import BOOL, INT32, INT64
from kstreams.serde.text import BYTES, TEXT

__all__ = ("KeyCodes", "has_key_codes")


def has_key_codes(key: Serde[Any]) -> bool:
    """Return whether keys of this serde differ exactly if their encoded bytes differ."""
    return key in (TEXT, BYTES, INT64, INT32, BOOL)


class KeyCodes:
    """Distinct keys, numbered in the order of their encoded bytes in stores.

    Args:
        keys: A column of keys as encoded in topics, without nulls.
        serde: Serde of the keys.
        kind: The type of `typed` for a serde for which `has_key_codes` is false. Keys of such a
            serde are equal if their bytes in stores are equal, as in execution by records.

    Attributes:
        codes: The number of each row's key.
        typed: The distinct keys by number, converted by the serde's `to_arrow`, or of type `kind`.
        stored: The distinct keys by number, as encoded in stores.
    """

    def __init__(self, keys: pa.Array, serde: Serde[Any], kind: EncodedType | None = None) -> None:
        found = keys.dictionary_encode()
        numbers = found.indices.to_numpy()
        if kind is None:
            typed = serde.to_arrow(found.dictionary)
            stored = serde.ordered.from_arrow(typed)
        else:
            objects = serde.deserialize_many(found.dictionary)
            again = serde.ordered.serialize_many(objects).dictionary_encode()
            stored, places = again.dictionary, again.indices.to_numpy()
            numbers = places[numbers]
            first = np.unique(places, return_index=True)[1]
            typed = kind.column([objects[place] for place in first.tolist()])
        order = pc.sort_indices(stored)
        ranks = np.empty(len(order), np.int64)
        ranks[order.to_numpy()] = np.arange(len(order))
        self.typed = typed.take(order)
        self.stored = stored.take(order)
        self.codes: npt.NDArray[np.int64] = ranks[numbers]

    def __len__(self) -> int:
        """Return the number of distinct keys."""
        return len(self.stored)
