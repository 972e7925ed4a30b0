"""Clicks: 5 ms apart, users drawn by Zipf 1.3 from 100,000, JSON of about 80 bytes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.suite.dataset import START_MS, Dataset
from benchmarks.suite.zipf import zipf

__all__ = ("CLICKS", "GAP_MS", "clicks", "clicks_of")

KEYS = 100_000
GAP_MS = 5


def clicks(count: int, random: np.random.Generator, *, keys: int = KEYS) -> pa.Table:
    """Draw clicks: key, value, timestamp, and the `amount` in the value."""
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
    """Return the data set of clicks with a different number of users."""
    return replace(CLICKS, name=f"clicks-of-{keys}", make=partial(clicks, keys=keys))


CLICKS = Dataset("clicks", clicks, filler=b'{"user":"","amount":0,"page":"","agent":"","at":0}')
