"""Users with their regions: all of them are loaded first, then a user moves now and then.

`VIEWS` are their page views: clicks of a number of users that depends on the number of views, so
that a small run loads few users. All users are older than the first view, and no user moves at the
time of a view.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.suite.clicks import CLICKS, GAP_MS, KEYS, clicks
from benchmarks.suite.dataset import DAY_MS, START_MS, Dataset
from benchmarks.suite.zipf import zipf
from kstreams_json import json_serde

__all__ = ("USER", "USERS", "VIEWS", "User", "users", "users_of")

REGIONS = 50
MOVES_EVERY = 50
"""Views per move: 2 %."""
_VIEWS_A_USER = 10
_FEWEST = 10


def users_of(views: int) -> int:
    """Return the number of users for a number of views."""
    return min(KEYS, max(_FEWEST, views // _VIEWS_A_USER))


def users(views: int, random: np.random.Generator) -> pa.Table:
    """Draw all users, then moves: key, value, timestamp, and the `region` in the value."""
    loaded, moved = users_of(views), views // MOVES_EVERY
    numbers = np.concatenate([1 + random.permutation(loaded), zipf(random, moved, loaded)])
    times = np.concatenate(
        [
            START_MS - DAY_MS + np.arange(loaded, dtype=np.int64),
            START_MS + np.arange(moved, dtype=np.int64) * (MOVES_EVERY * GAP_MS) + GAP_MS // 2,
        ]
    )
    user = pa.array(numbers).cast(pa.string())
    of_region = pa.array(random.integers(10, 10 + REGIONS, len(numbers))).cast(pa.string())
    region = pc.binary_join_element_wise("region", of_region, "-")
    values = pc.binary_join_element_wise(
        '{"user":"user-', user, '","region":"', region, '","plan":"free","since":',
        pa.array(times).cast(pa.string()), "}", "",
    )  # fmt: skip
    key = pc.binary_join_element_wise("user", user, "-").cast(pa.binary())
    columns = {"key": key, "value": values.cast(pa.binary())}
    return pa.table({**columns, "timestamp": times, "region": region})


def _views(count: int, random: np.random.Generator) -> pa.Table:
    return clicks(count, random, keys=users_of(count))


VIEWS = Dataset("views", _views, filler=CLICKS.filler)
USERS = Dataset(
    "users",
    users,
    filler=b'{"user":"","region":"?","plan":"","since":0}',
    size=lambda views: users_of(views) + views // MOVES_EVERY,
)


class User(msgspec.Struct):
    """The region in a user's JSON."""

    region: str


USER = json_serde(User)
