"""Records that come after their window has closed, as a stream of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kstreams._types import V
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.windows.plan import Routes

__all__ = ("Late", "LateCall", "late_call")

A = TypeVar("A")
"""Type of the results."""

LateCall = Callable[[Record[Any, Any], int, int], None]
"""Takes a refused record, and start and end (ms) of the window that refused it."""


@dataclass(frozen=True)
class Late(Generic[V]):
    """A value that a closed window refused.

    Args:
        value: The value.
        start_ms: Start of the window, ms since the epoch.
        end_ms: End of the window.
        stream_time_ms: Stream time when the record came, or as of which windows had been
            closed early, if that is later.
        lateness_ms: How long ago, by that time, the window closed.
    """

    value: V
    start_ms: int
    end_ms: int
    stream_time_ms: int
    lateness_ms: int


def late_call(
    context: ProcessorContext[Any, Any], close_delay_ms: int, routes: Routes | None
) -> LateCall:
    """Return what is called with a refused record: it counts it as `late`, and routes it."""
    drop = context.drop
    if routes is None:
        return lambda _record, _start, _end: drop("late")
    target, forward_to = routes.late, context.forward_to

    def late(record: Record[Any, Any], start: int, end: int) -> None:
        drop("late")
        now = context.stream_time
        value = Late(record.value, start, end, now, now - end - close_delay_ms)
        forward_to(target, record.with_value(value))

    return late
