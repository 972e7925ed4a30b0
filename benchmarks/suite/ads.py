"""Impressions of ads and clicks on them, up to a second out of order.

There are as many clicks as impressions. A tenth of the impressions is clicked 2.5 to 8.5 s later,
others 25 to 40 s later, and the remaining clicks belong to ads without an impression. Every
hundredth impression shows the ad of the previous one again, so that there are clicks with two
partners. The distance of a pair from the bounds 0 and 10 s is always larger than the disorder, and
no two records of one side have the same key and time, so the pairs do not depend on the order of
arrival.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.suite.dataset import START_MS, Dataset
from kstreams_json import json_serde

__all__ = (
    "AD_CLICK",
    "AD_CLICKS",
    "DISORDER_MS",
    "IMPRESSION",
    "IMPRESSIONS",
    "AdClick",
    "Impression",
    "ads",
)

DISORDER_MS = 1_000
_CLICKED, _LATE = 0.1, 0.3
_SOON_MS = (2_500, 8_500)
_LATE_MS = (25_000, 40_000)
_REPEATED_EVERY = 100

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]


def ads(count: int, random: np.random.Generator) -> tuple[pa.Table, pa.Table]:
    """Draw impressions and clicks by arrival: key, value, timestamp, and `cost` or `price`."""
    number = np.arange(count, dtype=np.int64)
    ad = number - (number % _REPEATED_EVERY == _REPEATED_EVERY - 1)
    # All offsets are even: two records of an ad (odd and even number) never have the same time.
    shown = START_MS + number - _even(random, 0, DISORDER_MS, count)
    clicked = random.random(count) < _CLICKED
    late = random.random(count) < _LATE
    hits = [(ad[mask], shown[mask] + _even(random, *after, int(mask.sum())))
            for mask, after in ((clicked, _SOON_MS), (late, _LATE_MS))]  # fmt: skip
    strays = count - sum(len(found) for found, _ in hits)
    unseen = -1 - np.arange(strays, dtype=np.int64), START_MS + random.integers(0, count, strays)
    clicks, at = (np.concatenate(parts) for parts in zip(*hits, unseen, strict=True))
    impressions = _table("cost", ad, shown, random.integers(1, 1000, count))
    arrival = np.argsort(at + random.integers(0, DISORDER_MS, count), kind="stable")
    prices = random.integers(1, 1000, count)
    return impressions, _table("price", clicks[arrival], at[arrival], prices)


def _even(random: np.random.Generator, least: int, most: int, count: int) -> Numbers:
    drawn: Numbers = random.integers(least // 2, most // 2, count) * 2
    return drawn


def _table(field: str, ad: Numbers, times: Numbers, amounts: Numbers) -> pa.Table:
    names = pc.binary_join_element_wise("ad", pa.array(ad).cast(pa.string()), ":")
    values = pc.binary_join_element_wise(
        '{"ad":"', names, f'","{field}":', pa.array(amounts).cast(pa.string()),
        ',"page":"/page/1","agent":"web","at":', pa.array(times).cast(pa.string()), "}", "",
    )  # fmt: skip
    columns = {"key": names.cast(pa.binary()), "value": values.cast(pa.binary())}
    return pa.table({**columns, "timestamp": times, field: amounts})


def _half(count: int, random: np.random.Generator, *, which: Literal[0, 1]) -> pa.Table:
    return ads(count, random)[which]


IMPRESSIONS = Dataset(
    "impressions",
    partial(_half, which=0),
    filler=b'{"ad":"","cost":0,"page":"","agent":"","at":0}',
    disorder_ms=DISORDER_MS,
)
AD_CLICKS = Dataset(
    "ad-clicks",
    partial(_half, which=1),
    filler=b'{"ad":"","price":0,"page":"","agent":"","at":0}',
    disorder_ms=DISORDER_MS,
)


class Impression(msgspec.Struct):
    """The cost and the time in an impression's JSON."""

    cost: int
    at: int


class AdClick(msgspec.Struct):
    """The price and the time in a click's JSON."""

    price: int
    at: int


IMPRESSION, AD_CLICK = json_serde(Impression), json_serde(AdClick)
