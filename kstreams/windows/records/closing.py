"""Closing of windows in record-by-record aggregation."""

from __future__ import annotations

from typing import Any, Protocol

from kstreams.durations import milliseconds
from kstreams.processors.context import ProcessorContext, PunctuationType
from kstreams.windows.contract import Closing
from kstreams.windows.plan import AggregationPlan
from kstreams.windows.rules import close_time, closed_end

__all__ = ("Closer", "schedule_closing")

_CLEANUP_INTERVAL_MS = 1000
"""The minimum interval (ms) between deletions of closed windows that have no final results."""


class Closer(Protocol):
    """Closes windows: forwards their final results, if required, and deletes their state."""

    def close(self, closed_ms: int) -> None:
        """Close the windows that end at a time (ms) or before."""
        ...

    def last_end(self) -> int | None:
        """Return the last end of an open window, ms; None if no window is open."""
        ...


def schedule_closing(
    context: ProcessorContext[Any, Any], plan: AggregationPlan, closer: Closer
) -> None:
    """Schedule the closing of windows: when stream time advances, and at the end of a run.

    Stream-time punctuators run after the record that advances stream time, so final results are
    forwarded after that record.
    """
    windows: Closing = plan.windows
    delay, interval = windows.close_delay_ms, windows.close_interval_ms
    if not plan.emits_on_close:
        interval = max(interval, delay, _CLEANUP_INTERVAL_MS)
    context.schedule(
        milliseconds(interval),
        PunctuationType.STREAM_TIME,
        lambda now: closer.close(closed_end(now, delay)),
        name="close",
    )

    def close_early() -> None:
        end = closer.last_end()
        if end is not None and plan.ends_with_run(end):
            closer.close(end)
            context.advance_close_time(close_time(end, delay))

    context.on_end_of_run(close_early)
