"""The unlimited window, which has no end."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from kstreams.clock import to_ms
from kstreams.windowed import NEVER_ENDS
from kstreams.windows.columns.assignment import Assigner, searched
from kstreams.windows.engine import WindowEngine, time_engine

__all__ = ("UnlimitedWindows",)


@dataclass(frozen=True)
class UnlimitedWindows:
    """A single window from a start to the end of time, which stream time never closes.

    Its state is kept forever. With `on_close()` its final result is forwarded at the end of a run
    that closes windows: `App.run(until="end", close_windows=True)`, `drain(close_windows=True)`,
    bounded DataFrames, or `TopologyTestDriver.close_windows()`. Records of later runs are late.
    `App.run` and `App.start` reject a topology whose results would never be forwarded. With other
    emissions the window stays open.

    Args:
        start: Start of the window, with a time zone; records before it are dropped as `no-window`.
            None is the epoch.

    Raises:
        ValueError: The start has no time zone, or is before the epoch.

    Source: `org.apache.kafka.streams.kstream.UnlimitedWindows`.
    """

    start: datetime | None = None
    start_ms: int = field(init=False, repr=False, compare=False)
    close_delay_ms: int = field(init=False, repr=False, compare=False, default=0)
    close_interval_ms: int = field(init=False, repr=False, compare=False, default=1 << 40)

    def __post_init__(self) -> None:
        start_ms = 0 if self.start is None else to_ms(self.start)
        if start_ms < 0:
            raise ValueError(f"start is {self.start}, expected the epoch (1970-01-01 UTC) or later")
        object.__setattr__(self, "start_ms", start_ms)

    def starts(self, timestamp_ms: int) -> tuple[int, ...]:
        """Return the start of the window; empty for an earlier time."""
        return (self.start_ms,) if timestamp_ms >= self.start_ms else ()

    def end(self, start_ms: int) -> int:  # the same for any
        """Return `NEVER_ENDS`, the maximum time."""
        return NEVER_ENDS

    @property
    def name(self) -> str:
        """Return the part of stored names: `unlimited`, or `unlimited-from-<ms>`."""
        return f"unlimited-from-{self.start_ms}" if self.start_ms else "unlimited"

    @property
    def engine(self) -> WindowEngine:
        """The engine of aggregations by the unlimited window."""
        return time_engine(self, self._assigner, never_ends=True)

    def _assigner(self) -> Assigner:
        return Assigner(searched(self), self._closed_before)

    def _closed_before(self, closed: int) -> int | None:
        """Return 1 ms after the window's start if a run has closed the window; else None.

        The result is a bound (ms): all windows with an earlier start have ended.
        """
        return self.start_ms + 1 if closed == NEVER_ENDS else None
