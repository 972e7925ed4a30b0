"""Keys of a growing state; the sort order of keys is independent of their insertion order."""

from __future__ import annotations

import numpy as np

__all__ = ("Numbers", "names")

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]

_ODD = 2_654_435_761  # about 2^32 / golden ratio: spreads neighbors
_RANGE = 2**32


def names(numbers: Numbers) -> list[bytes]:
    """Return a distinct key for each number below 2^31."""
    return [b"user-%08x" % spread for spread in (numbers * _ODD % _RANGE).tolist()]
