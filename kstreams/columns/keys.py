"""The keys of a batch as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.serde.base import Serde
from kstreams.serde.numbers import BOOL, INT32, INT64
from kstreams.serde.text import BYTES, TEXT

__all__ = ("KeyCodes", "has_key_codes")


def has_key_codes(key: Serde[Any]) -> bool:
    """Return whether a serde is one whose keys differ exactly if their encoded bytes differ."""
    return key in (TEXT, BYTES, INT64, INT32, BOOL)


class KeyCodes:
    """Distinct keys, numbered in the order of their bytes in stores.

    Args:
        keys: A column of encoded keys, as topics have them; none is null.
        serde: Serde of the keys, for which `has_key_codes` is true.

    Attributes:
        codes: The number of each row's key.
        typed: The keys by number, as the serde's `to_arrow` makes them.
        stored: The keys by number, as stores keep them.
    """

    def __init__(self, keys: pa.Array, serde: Serde[Any]) -> None:
        found = keys.dictionary_encode()
        typed = serde.to_arrow(found.dictionary)
        stored = serde.ordered.from_arrow(typed)
        order = pc.sort_indices(stored)
        ranks = np.empty(len(order), np.int64)
        ranks[order.to_numpy()] = np.arange(len(order))
        self.typed = typed.take(order)
        self.stored = stored.take(order)
        self.codes: npt.NDArray[np.int64] = ranks[found.indices.to_numpy()]

    def __len__(self) -> int:
        """Return the number of distinct keys."""
        return len(self.stored)
