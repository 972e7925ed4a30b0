"""Sliding windows: wherever the records lie."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from kstreams.times import span_ms

__all__ = ("SlidingWindows",)


@dataclass(frozen=True)
class SlidingWindows:
    """Windows of one length around the records of a key, both ends inclusive.

    For each record at t there is `[t - difference, t]`, and `[t + 1, t + 1 + difference]`
    where that holds records; records before `difference` share `[0, difference]`.

    Args:
        difference: Largest span between two records of one window.
        grace: Stream time after its end in which a window accepts records; or `forever`.

    Raises:
        ValueError: A span is negative.

    Source: `org.apache.kafka.streams.kstream.SlidingWindows` (KIP-450).
    """

    difference: timedelta
    grace: timedelta = field(default=timedelta(0), kw_only=True)
    difference_ms: int = field(init=False, repr=False, compare=False)
    close_delay_ms: int = field(init=False, repr=False, compare=False)
    close_interval_ms: int = field(init=False, repr=False, compare=False, default=1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "difference_ms", span_ms("difference", self.difference))
        object.__setattr__(self, "close_delay_ms", span_ms("grace", self.grace) + 1)
