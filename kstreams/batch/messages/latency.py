"""Histograms of the ages of records at the commit of their results."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kstreams.state.log.fields import Fields, checked_integer

__all__ = ("LATENCY_BOUNDS_MS", "Ages", "Latency", "latency_after")

LATENCY_BOUNDS_MS = (
    *(5, 10, 25, 50, 100, 250, 500),
    *(1_000, 2_500, 5_000, 10_000, 30_000, 60_000),
    *(300_000, 3_600_000, 86_400_000),
)
"""Upper bounds of the buckets, ms; an additional last bucket counts older records."""

_PER_OCTAVE = 4
_MOST_OCTAVES = 43
"""The number of doublings up to the last bucket: 2**43 ms are 278 years."""


@dataclass(frozen=True)
class Ages:
    """The ages of records at the planning of their batch, in fine buckets.

    Attributes:
        counts: The number of records, by bucket number: bucket 0 is below 1 ms, and each further
            bound is the previous one times the fourth root of 2.
        sum_ms: The sum of all ages, ms.
    """

    counts: Mapping[int, int] = field(default_factory=dict)
    sum_ms: int = 0

    @classmethod
    def of(cls, wall_ms: int, times: Iterable[npt.NDArray[np.int64]]) -> Ages:
        """Count the ages of records.

        Args:
            wall_ms: The time of the plan of the batch, ms since the epoch.
            times: The timestamps of the records, ms since the epoch; records after `wall_ms` have
                the age 0.
        """
        found: Counter[int] = Counter()
        total = 0
        for part in times:
            ages = np.clip(wall_ms - part, 0, 1 << _MOST_OCTAVES)
            total += int(ages.sum(dtype=np.float64))
            octaves = np.log2(np.maximum(ages, 1)) * _PER_OCTAVE
            buckets = np.where(ages < 1, 0, 1 + octaves.astype(np.int64))
            counts = np.bincount(buckets)
            found.update({int(n): int(counts[n]) for n in np.flatnonzero(counts)})
        return cls(dict(sorted(found.items())), total)

    def to_json(self) -> list[object]:
        """Return the fields as JSON-compatible data."""
        return [[[bucket, count] for bucket, count in self.counts.items()], self.sum_ms]

    @classmethod
    def from_json(cls, data: object) -> Ages:
        """Parse the result of `to_json`; raises a `ValueError` that describes the problem."""
        match data:
            case [list(pairs), total]:
                counts = {
                    checked_integer(bucket, "a bucket"): checked_integer(count, "a count")
                    for bucket, count in pairs
                }
                return cls(counts, checked_integer(total, "a sum of ages"))
            case _:
                raise ValueError(
                    "expected the ages of records as [[[bucket, count], ...], sum in ms], "
                    f"got {type(data).__name__} {data!r:.100}"
                )


@dataclass(frozen=True)
class Latency:
    """The ages of records at the commit of their batch.

    Attributes:
        counts: The number of records with an age up to each bound of `LATENCY_BOUNDS_MS` and above
            the previous one; the last count is for older records.
        sum_ms: The sum of all ages, ms.
    """

    counts: tuple[int, ...] = (0,) * (len(LATENCY_BOUNDS_MS) + 1)
    sum_ms: int = 0

    @property
    def count(self) -> int:
        """The number of records."""
        return sum(self.counts)

    def quantile_ms(self, share: float) -> int | None:
        """Return an upper bound of the ages of a share (0 to 1) of the records, ms; None if empty.

        If the share includes records older than the last bound, the result is the last bound.
        """
        wanted, seen = share * self.count, 0
        for bound, count in zip(
            (*LATENCY_BOUNDS_MS, LATENCY_BOUNDS_MS[-1]), self.counts, strict=True
        ):
            seen += count
            if count and seen >= wanted:
                return bound
        return None

    def __add__(self, other: Latency) -> Latency:
        """Return the sum of two histograms."""
        counts = tuple(a + b for a, b in zip(self.counts, other.counts, strict=True))
        return Latency(counts, self.sum_ms + other.sum_ms)

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON-compatible data."""
        return {"counts": list(self.counts), "sum_ms": self.sum_ms}

    @classmethod
    def from_json(cls, data: object) -> Latency:
        """Parse the result of `to_json`; raises a `ValueError` that describes the problem."""
        fields = Fields(data)
        counts = tuple(checked_integer(n, "a count of records") for n in fields.items("counts"))
        if len(counts) != len(LATENCY_BOUNDS_MS) + 1:
            expected = len(LATENCY_BOUNDS_MS) + 1
            raise ValueError(f"a latency histogram has {len(counts)} counts, expected {expected}")
        return cls(counts, fields.integer("sum_ms"))


def latency_after(ages: Iterable[Ages], delay_ms: int) -> Latency:
    """Return the ages of records some time after the planning of their batch.

    Args:
        ages: The ages of the records at the planning.
        delay_ms: The time since the planning, ms.
    """
    delay = max(delay_ms, 0)
    counts = [0] * (len(LATENCY_BOUNDS_MS) + 1)
    total = 0
    for each in ages:
        for bucket, count in each.counts.items():
            counts[bisect_left(LATENCY_BOUNDS_MS, _middle(bucket) + delay)] += count
            total += count * delay
        total += each.sum_ms
    return Latency(tuple(counts), total)


def _middle(bucket: int) -> float:
    return 0 if bucket == 0 else float(2 ** ((bucket - 0.5) / _PER_OCTAVE))
