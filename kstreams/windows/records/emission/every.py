"""Emission at the end of each interval of stream time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kstreams.durations import milliseconds
from kstreams.processors.context import ProcessorContext, PunctuationType
from kstreams.record import Record
from kstreams.state.stores.buffered import state_after
from kstreams.state.stores.emit_buffer.rows import EmitBufferRows
from kstreams.windows.records.emission.emitter import Emitter, Process, Stamped
from kstreams.windows.rules import interval_end

__all__ = ("IntervalEmitter",)


class IntervalEmitter(Emitter):
    """Forwards the last state of each changed window at the end of an interval: `every(interval)`.

    Args:
        context: The context of the node; its `init` must create the emitter.
        rows: The store of the changes until the end of their interval.
        interval_ms: The length of an interval, ms.
        result: Converts a state to a result.
        forward: Forwards a result.
    """

    def __init__(
        self,
        context: ProcessorContext[Any, Any],
        rows: EmitBufferRows[Any, Any],
        interval_ms: int,
        result: Callable[[Any], Any],
        forward: Process,
    ) -> None:
        super().__init__(result, forward)
        self._context = context
        self._rows = rows
        self._get, self._put = rows.reader(), rows.writer()
        self._interval = interval_ms
        rows.bring_forward(interval_end(context.stream_time, interval_ms))
        context.schedule(
            milliseconds(interval_ms),
            PunctuationType.STREAM_TIME,
            self._release,
            name=f"every {interval_ms} ms",
        )
        context.on_end_of_run(partial(self._release, None))

    def update(
        self, record: Record[Any, Any], start: int, end: int, stamped: Stamped | None
    ) -> None:
        """Buffer the change; it replaces an earlier change of the same window and interval."""
        handle = interval_end(self._context.stream_time, self._interval), start, end, record.key
        state, time = (None, end) if stamped is None else stamped
        self._put(handle, state_after(self._get(handle), state, time))

    def _release(self, now: int | None) -> None:
        """Forward the changes due by a time (ms), deletions first; None forwards all changes."""
        found = self._rows.take_until(now)
        found.sort(key=lambda pair: pair[1].value is not None)
        for (_, start, end, key), change in found:
            stamped = None if change.value is None else (change.value, change.time_ms)
            self.forward(key, start, end, stamped)
