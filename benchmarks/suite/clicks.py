"""Clicks: 5 ms apart, users drawn by Zipf 1.3 from 100,000, JSON of about 80 bytes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.suite.dataset import START_MS, Dataset

__all__ = ("CLICKS", "GAP_MS", "clicks", "clicks_of", "zipf")

KEYS = 100_000
EXPONENT = 1.3
GAP_MS = 5


def zipf(
    random: np.random.Generator, count: int, keys: int, exponent: float = EXPONENT
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Draw numbers from 1 to `keys`, k with a probability proportional to k^-exponent."""
    weights = np.arange(1, keys + 1, dtype=np.float64) ** -exponent
    bounds = np.cumsum(weights)
    found = np.searchsorted(bounds, random.random(count) * bounds[-1], side="right") + 1
    drawn: np.ndarray[tuple[int], np.dtype[np.int64]] = np.minimum(found, keys).astype(np.int64)
    return drawn


def clicks(count: int, random: np.random.Generator, *, keys: int = KEYS) -> pa.Table:
    """Draw clicks: key, value, timestamp, and `amount` as it stands in the value."""
    users = pa.array(zipf(random, count, keys)).cast(pa.string())
    amounts = pa.array(random.integers(1, 1000, count))
    pages = pa.array(random.integers(1, 100, count)).cast(pa.string())
    times = pa.array(START_MS + np.arange(count, dtype=np.int64) * GAP_MS)
    names = pc.binary_join_element_wise("user", users, "-")
    values = pc.binary_join_element_wise(
        '{"user":"user-', users, '","amount":', amounts.cast(pa.string()),
        ',"page":"/page/', pages, '","agent":"web","at":', times.cast(pa.string()), "}", "",
    )  # fmt: skip
    columns = {"key": names.cast(pa.binary()), "value": values.cast(pa.binary())}
    return pa.table({**columns, "timestamp": times, "amount": amounts})


def clicks_of(keys: int) -> Dataset:
    """Return clicks of another number of users."""
    return replace(CLICKS, name=f"clicks-of-{keys}", make=partial(clicks, keys=keys))


CLICKS = Dataset("clicks", clicks, filler=b'{"user":"","amount":0,"page":"","agent":"","at":0}')
