"""When the record engine closes windows."""

from __future__ import annotations

from typing import Any, Protocol

from kstreams.durations import milliseconds
from kstreams.processors.context import ProcessorContext, PunctuationType
from kstreams.windows.contract import Closing
from kstreams.windows.plan import AggregationPlan
from kstreams.windows.rules import close_time, closed_end

__all__ = ("Closer", "schedule_closing")

_CLEANUP_INTERVAL_MS = 1000
"""The minimum interval between deletions of closed windows that have no final results."""


class Closer(Protocol):
    """Closes windows: forwards final results if they are wanted, and deletes state."""

    def close(self, closed_ms: int) -> None:
        """Close the windows that end at a time or before."""
        ...

    def last_end(self) -> int | None:
        """Return the last end of an open window, ms, or None without any."""
        ...


def schedule_closing(
    context: ProcessorContext[Any, Any], plan: AggregationPlan, closer: Closer
) -> None:
    """Close windows as stream time advances, and all open windows at the end of a run.

    Stream-time punctuators run after the record that made them due, so that is when final
    results come.
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
