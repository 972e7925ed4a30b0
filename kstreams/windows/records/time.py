"""Record-by-record aggregation by windows laid out in time, such as tumbling windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kstreams._types import K
from kstreams.record import Record
from kstreams.state.stores.state_store import StateStore
from kstreams.state.stores.window.rows import WindowRows
from kstreams.windows.contract import TimeWindows
from kstreams.windows.plan import AggregationPlan
from kstreams.windows.records.bounds import Spans, WindowBounds
from kstreams.windows.records.closing import Closer
from kstreams.windows.records.emission.emitter import Emitter, Process
from kstreams.windows.records.lateness import LateCall, LatenessClock
from kstreams.windows.records.processor import WindowedProcessor
from kstreams.windows.rules import DropReason, closed_end

__all__ = ("TimeAggregate",)

V = TypeVar("V", contravariant=True)
"""Type of the input values."""
A = TypeVar("A", covariant=True)
"""Type of the results."""


class TimeAggregate(WindowedProcessor[K, V, A]):
    """Aggregates by windows laid out in time: stores a state for each key and window.

    Args:
        plan: The aggregation.
        spans: The spans in which all times have the same windows; None if there are no such spans.

    Source: `org.apache.kafka.streams.kstream.internals.KStreamWindowAggregate`.
    """

    def __init__(self, plan: AggregationPlan, spans: Spans | None = None) -> None:
        super().__init__(plan)
        self._spans = spans

    def aggregation(
        self,
        store: StateStore[Any],
        clock: LatenessClock,
        emitter: Emitter,
        late: LateCall,
        drop: Callable[[DropReason], None],
    ) -> tuple[Process, Closer]:
        """Return the function that processes a record, and the object that closes windows."""
        windows: TimeWindows = self.plan.windows
        init, add = self.plan.aggregator.init, self.plan.aggregator.add
        delay, on_close = windows.close_delay_ms, self.plan.emits_on_close
        rows: WindowRows[Any, Any] = WindowRows.of(store)
        get, put = rows.reader(), rows.writer()
        bounds = WindowBounds(windows, self._spans)
        span = bounds.span_ms
        update = None if on_close else emitter.update
        closer = _TimeCloser(rows, windows.end, emitter if on_close else None)

        def process(record: Record[Any, Any]) -> None:
            key, timestamp = record.key, record.timestamp
            if key is None:
                drop("null-key")
                return
            found = bounds[timestamp // span]
            if not found:
                drop("no-window")
                return
            closed = closed_end(clock.stream_time, delay)
            for start, end in found:
                if end <= closed:
                    late(record, start, end)
                    continue
                handle = (start, key)
                before = get(handle)
                if before is None:
                    stamped = (init(record), timestamp)
                    if end < closer.next_end:
                        closer.next_end = end
                else:
                    state, latest = before
                    if timestamp > latest:
                        latest = timestamp
                    stamped = (add(state, record), latest)
                put(handle, stamped)
                if update is not None:
                    update(record, start, end, stamped)

        return process, closer


class _TimeCloser:
    """Deletes closed windows, and with `on_close()` forwards their final results first.

    `next_end` and `_first` are lower bounds of the ends and the starts of all windows, which save
    reads of the store.
    """

    def __init__(
        self,
        rows: WindowRows[Any, Any],
        end_of: Callable[[int], int],
        emitter: Emitter | None,
    ) -> None:
        self._rows = rows
        self._end_of = end_of
        self._emitter = emitter
        self._first: int | None = None
        self.next_end: float = -1

    def close(self, closed_ms: int) -> None:
        """Close the windows that end at a time (ms) or before."""
        if closed_ms < self.next_end:
            return
        rows, end_of, first = self._rows, self._end_of, self._first
        start = rows.first_start(first)
        past = None
        while start is not None and end_of(start) <= closed_ms:
            past = start + 1
            start = rows.first_start(past)
        if past is not None:
            if self._emitter is not None:
                for (begin, key), stamped in rows.scan(first, past):
                    self._emitter.close(key, begin, end_of(begin), stamped)
            rows.drop_before(past, from_ms=first)
            self._first = past  # a window that starts before it would be closed: none is made
        self.next_end = float("inf") if start is None else end_of(start)

    def last_end(self) -> int | None:
        """Return the end of the last window, ms; None if there is no window."""
        last = self._rows.last_start()
        return None if last is None else self._end_of(last)
