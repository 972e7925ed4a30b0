"""Ids of entities whose number grows over time: auctions, bidders, sellers."""

from __future__ import annotations

import numpy as np

__all__ = ("FIRST_ID", "growing_ids")

FIRST_ID = 1_000
_HOT_EVERY = 100


def growing_ids(
    newest: np.ndarray[tuple[int], np.dtype[np.int64]],
    at_once: int,
    hot: float,
    random: np.random.Generator,
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Draw ids among the newest ones; the current hot id with the given probability.

    Args:
        newest: The number of the newest entity at each draw, from 0.
        at_once: The number of newest entities to draw from.
        hot: The probability of the hot id.
        random: The generator.
    """
    count = len(newest)
    any_of = np.maximum(newest - random.integers(0, at_once, count), 0)
    hot_one = newest // _HOT_EVERY * _HOT_EVERY
    return FIRST_ID + np.where(random.random(count) < hot, hot_one, any_of)
