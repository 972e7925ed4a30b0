"""Clicks: 5 ms apart, users drawn by Zipf 1.3 from 100,000, JSON of about 80 bytes.

The most frequent user has 26 % of the clicks.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.suite.dataset import START_MS, Dataset
from benchmarks.suite.zipf import EXPONENT, zipf

__all__ = ("CLICKS", "GAP_MS", "KEYS", "clicks", "clicks_of")

KEYS = 100_000
GAP_MS = 5


def clicks(
    count: int, random: np.random.Generator, *, keys: int = KEYS, exponent: float = EXPONENT
) -> pa.Table:
    """Draw clicks: key, value, timestamp, and the `amount` in the value."""
    users = pa.array(zipf(random, count, keys, exponent)).cast(pa.string())
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


def clicks_of(keys: int = KEYS, exponent: float = EXPONENT) -> Dataset:
    """Return the data set of clicks with another number of users, or another skew.

    Args:
        keys: The number of users.
        exponent: The exponent of the distribution: 0 draws all users equally often.
    """
    users = "" if keys == KEYS else f"-of-{keys}"
    skew = "" if exponent == EXPONENT else f"-zipf-{exponent:g}"
    made = partial(clicks, keys=keys, exponent=exponent)
    return replace(CLICKS, name=f"clicks{users}{skew}", make=made)


CLICKS = Dataset("clicks", clicks, filler=b'{"user":"","amount":0,"page":"","agent":"","at":0}')
