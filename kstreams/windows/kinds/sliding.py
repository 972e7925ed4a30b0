"""Sliding windows: windows of one length that begin or end at records."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from kstreams._types import K
from kstreams.state.stores.sliding.kind import SLIDING
from kstreams.stored_names import span_part
from kstreams.times import span_ms
from kstreams.windows.columns.sliding import SlidingWindowColumns
from kstreams.windows.engine import WindowEngine
from kstreams.windows.keys.serdes import TimeWindowedSerde
from kstreams.windows.records.sliding import SlidingAggregate

__all__ = ("SlidingWindows",)


@dataclass(frozen=True)
class SlidingWindows:
    """Windows of one length that begin or end at records of a key, both bounds inclusive.

    A record at time t defines the window `[t - difference, t]`, and `[t + 1, t + 1 + difference]`
    if that window contains records; records before `difference` share the window `[0, difference]`.

    Args:
        difference: The maximum time between two records of one window.
        grace: The stream time for which a window accepts records after its end; or `forever`.

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

    @property
    def name(self) -> str:
        """Return the part of stored names, without the grace: `within-90s`."""
        return f"within-{span_part(self.difference)}"

    @property
    def engine(self) -> WindowEngine:
        """The engine of aggregations by these windows."""
        serde = partial(_SlidingWindowedSerde, windows=self)
        return WindowEngine(
            SLIDING, SlidingAggregate, SlidingWindowColumns, serde, merges_states=True
        )


class _SlidingWindowedSerde(TimeWindowedSerde[K]):
    """Serde of windowed keys whose windows all have the same length."""

    def _end(self, start_ms: int) -> int:
        difference_ms: int = self.windows.difference_ms
        return start_ms + difference_ms
