"""Keys with a realistic distribution: a few are very frequent, most are rare."""

from __future__ import annotations

import numpy as np

__all__ = ("EXPONENT", "zipf")

EXPONENT = 1.3


def zipf(
    random: np.random.Generator, count: int, keys: int, exponent: float = EXPONENT
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Draw numbers from 1 to `keys`, k with a probability proportional to k^-exponent."""
    weights = np.arange(1, keys + 1, dtype=np.float64) ** -exponent
    bounds = np.cumsum(weights)
    found = np.searchsorted(bounds, random.random(count) * bounds[-1], side="right") + 1
    drawn: np.ndarray[tuple[int], np.dtype[np.int64]] = np.minimum(found, keys).astype(np.int64)
    return drawn
