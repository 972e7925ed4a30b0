"""Hold changes back until stream time reaches the next interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from kstreams.durations import milliseconds
from kstreams.processors.context import ProcessorContext, PunctuationType
from kstreams.record import Record
from kstreams.state.stores.buffered import state_after
from kstreams.state.stores.emit_buffer.rows import EmitBufferRows
from kstreams.windowed import Windowed

__all__ = ("EveryInterval", "interval_end")

T = TypeVar("T", int, "np.ndarray[Any, np.dtype[np.int64]]")
"""A time, or a column of times."""


def interval_end(now: T, interval_ms: int) -> T:
    """Return the end of the interval that a time (ms) lies in, or each of many."""
    return now - now % interval_ms + interval_ms


class EveryInterval:
    """Forwards the last state of each window that has changed, interval by interval.

    Args:
        context: The node's, in `init`.
        store: What is held back.
        interval_ms: Length of an interval.
        result: Makes a result of a state.
        forward: Takes results.
    """

    def __init__(
        self,
        context: ProcessorContext[Any, Any],
        store: EmitBufferRows[Any, Any],
        interval_ms: int,
        result: Callable[[Any], Any],
        forward: Callable[[Record[Any, Any]], None],
    ) -> None:
        self._context = context
        self._store = store
        self._get, self._put = store.reader(), store.writer()
        self._interval = interval_ms
        self._result = result
        self._forward = forward
        store.bring_forward(interval_end(context.stream_time, interval_ms))
        context.schedule(
            milliseconds(interval_ms),
            PunctuationType.STREAM_TIME,
            self.release,
            name=f"every {interval_ms} ms",
        )

    def take(self, record: Record[Windowed[Any], Any]) -> None:
        """Note a window's new state, or its deletion (None)."""
        window, now = record.key, self._context.stream_time
        handle = interval_end(now, self._interval), window.start_ms, window.end_ms, window.key
        self._put(handle, state_after(self._get(handle), record.value, record.timestamp))

    def release(self, now: int | None) -> None:
        """Forward what is due at a time (ms), deletions first; None is all there is."""
        found = self._store.take_until(now)
        found.sort(key=lambda pair: pair[1].value is not None)
        for (_, start, end, key), waiting in found:
            value = None if waiting.value is None else self._result(waiting.value)
            self._forward(Record(Windowed(key, start, end), value, waiting.time_ms))
