"""The clock that determines lateness, and the output for late records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.windows.late import Late
from kstreams.windows.plan import Routes
from kstreams.windows.rules import closed_end, lateness_time

__all__ = ("LateCall", "LatenessClock", "late_call", "lateness_clock")

LateCall = Callable[[Record[Any, Any], int, int], None]
"""Takes a late record, and the start and end (ms) of the window that rejected the record."""


class LatenessClock(Protocol):
    """A clock that shows the time that decides which windows are closed."""

    @property
    def stream_time(self) -> int:
        """The time that decides which windows are closed, ms since the epoch."""
        ...


def lateness_clock(context: ProcessorContext[Any, Any]) -> LatenessClock:
    """Return the lateness clock of a node; must be called in `init`.

    If a run has closed the node's windows early, as of a time later than stream time, the clock
    shows at least the time of this closing. Otherwise the clock is the context, because stream
    time never decreases.
    """
    close_time = context.close_time
    return context if close_time <= context.stream_time else _ClosedEarly(context, close_time)


class _ClosedEarly:
    """The lateness clock of a node whose windows a run has closed early."""

    def __init__(self, context: ProcessorContext[Any, Any], close_time_ms: int) -> None:
        self._context = context
        self._close_time = close_time_ms

    @property
    def stream_time(self) -> int:
        return lateness_time(self._context.stream_time, self._close_time)


def late_call(
    context: ProcessorContext[Any, Any],
    clock: LatenessClock,
    close_delay_ms: int,
    routes: Routes | None,
) -> LateCall:
    """Return a function that counts late records, and forwards them to the child for late records.

    Args:
        context: The context of the node.
        clock: The clock that determines lateness.
        close_delay_ms: The time from the end of a window to its close.
        routes: The children for results and late records; None if late records are not forwarded.
    """
    drop = context.drop
    if routes is None:
        return lambda _record, _start, _end: drop("late")
    child, forward_to = routes.late, context.forward_to

    def late(record: Record[Any, Any], start: int, end: int) -> None:
        drop("late")
        now = clock.stream_time
        value = Late(record.value, start, end, now, closed_end(now, close_delay_ms) - end)
        forward_to(child, record.with_value(value))

    return late
