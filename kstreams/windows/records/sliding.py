"""Record-by-record aggregation by sliding windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kstreams._types import K
from kstreams.record import Record
from kstreams.state.stores.sliding.rows import SlidingRows
from kstreams.state.stores.state_store import StateStore
from kstreams.times import FAR_MS
from kstreams.windows.plan import AggregationPlan
from kstreams.windows.records.closing import Closer
from kstreams.windows.records.emission.emitter import Emitter, Process, Stamped
from kstreams.windows.records.lateness import LateCall, LatenessClock
from kstreams.windows.records.processor import WindowedProcessor
from kstreams.windows.records.slices import Slices
from kstreams.windows.rules import (
    DropReason,
    by_start,
    closed_end,
    last_sliding_end,
    refusing_window,
)

__all__ = ("Slicer", "SlidingAggregate")

V = TypeVar("V", contravariant=True)
"""Type of the input values."""
A = TypeVar("A", covariant=True)
"""Type of the results."""


_Final = tuple[Any, int, Stamped]
"""Key, start (ms), and last state of a closed window."""


class SlidingAggregate(WindowedProcessor[K, V, A]):
    """Aggregates by sliding windows: stores a state per key and time, and merges states per window.

    Source: `org.apache.kafka.streams.kstream.internals.KStreamSlidingWindowAggregate`; differs
    where Kafka Streams loses the later window of a late record, or forwards a window twice.
    """

    def aggregation(
        self,
        store: StateStore[Any],
        clock: LatenessClock,
        emitter: Emitter,
        late: LateCall,
        drop: Callable[[DropReason], None],
    ) -> tuple[Process, Closer]:
        """Return the function that processes a record, and the object that closes windows."""
        windows = self.plan.windows
        difference, delay = windows.difference_ms, windows.close_delay_ms
        slicer = Slicer(self.plan, SlidingRows.of(store), emitter)

        def process(record: Record[Any, Any]) -> None:
            time = record.timestamp
            closed = closed_end(clock.stream_time, delay)
            if record.key is None:
                drop("null-key")
            elif record.value is None:
                drop("null-value")
            elif time < 0:
                drop("no-window")
            elif last_sliding_end(time, difference) <= closed:
                late(record, *refusing_window(time, difference))
            else:
                slicer.close_ahead(closed)
                slicer.add(record, closed)

        return process, slicer


class Slicer:
    """Adds records to slices, passes windows to the emitter, and deletes unneeded slices.

    `_next_timer` is a lower bound of all timers, which saves reads of the store.

    Args:
        plan: The aggregation.
        rows: The store's slices.
        emitter: Receives changes and final states.
    """

    def __init__(
        self, plan: AggregationPlan, rows: SlidingRows[Any, Any], emitter: Emitter
    ) -> None:
        self._rows = rows
        self._span: int = plan.windows.difference_ms
        self._aggregator = plan.aggregator
        self._on_close = plan.emits_on_close
        self._emitter = emitter
        self._encode = plan.store.key.ordered.serialize
        self._next_timer = -1

    def add(self, record: Record[Any, Any], closed: int) -> None:
        """Add a record that is not late; pass the windows that it changes to the emitter.

        Args:
            record: The record.
            closed: Windows that end at this time (ms) or before are closed.
        """
        key, time = record.key, record.timestamp
        opened = closed + 1
        slices, timer, finals = self._open(key, opened)
        self._close_all(finals)
        is_new = slices.add(time, record)
        # No window that the record makes or changes ends before the record's time.
        self._keep(key, slices, opened, None if timer is None else min(timer, time))
        if self._on_close:
            return
        span, update = self._span, self._emitter.update
        for start, state, latest in slices.changed(time, opened, is_new=is_new):
            update(record, start, start + span, (state, latest))

    def close(self, closed_ms: int) -> None:
        """Close the windows that end at a time (ms) or before."""
        if closed_ms < self._next_timer:
            return
        self._close_due(closed_ms)
        following = self._rows.next_timer()
        self._next_timer = FAR_MS if following is None else following

    def last_end(self) -> int | None:
        """Return the last end of a window, ms; None if there is no window."""
        rows = (Slices(row, self._span, self._aggregator) for _, row in self._rows.scan())
        ends = (slices.last_end() for slices in rows)
        return max((end for end in ends if end is not None), default=None)

    def close_ahead(self, closed: int) -> None:
        """Forward the final results of closed windows before a record is added.

        So the windows of all keys that one record closes are forwarded in one order. `_next_timer`
        does not change, because a failure of the record undoes the closing.
        """
        if self._on_close and closed >= self._next_timer:
            self._close_due(closed)

    def _close_due(self, closed: int) -> None:
        found: list[_Final] = []
        for key in self._rows.due(closed):
            slices, timer, finals = self._open(key, closed + 1)
            found += finals
            self._keep(key, slices, closed + 1, timer)
        found.sort(key=lambda final: by_start(final[1], self._encode(final[0])))
        self._close_all(found)

    def _close_all(self, finals: list[_Final]) -> None:
        for key, start, stamped in finals:
            self._emitter.close(key, start, start + self._span, stamped)

    def _open(
        self,
        key: Any,  # noqa: ANN401  # erased
        opened: int,
    ) -> tuple[Slices, int | None, list[_Final]]:
        """Remove the slices of a key that no open window needs.

        Returns:
            The remaining slices; a lower bound (ms) of the ends of their windows, None without
            `on_close()`; and the last states of the windows that end before `opened`.
        """
        timer, done, pairs = self._rows.get(key) or (FAR_MS, 0, ())
        slices = Slices(pairs, self._span, self._aggregator)
        if not self._on_close:
            return slices.since(opened - self._span - 1), None, []
        if timer >= opened:
            return slices, timer, []
        finals = [
            (key, start, (state, latest)) for start, state, latest in slices.ending(done, opened)
        ]
        slices = slices.since(opened - self._span - 1)
        following = slices.next_end(opened)
        return slices, FAR_MS if following is None else following, finals

    def _keep(self, key: Any, slices: Slices, opened: int, timer: int | None) -> None:  # noqa: ANN401
        """Store the slices of a key, and record `opened`: windows that end earlier are closed.

        If no window must be closed, the timer of the stored row is the time at which its last slice
        can be deleted.
        """
        unneeded = slices.last + self._span + 1
        due = unneeded if timer is None or timer == FAR_MS else max(timer, opened)
        self._rows.put(key, slices.pairs, done_ms=opened, timer_ms=due)
        self._next_timer = min(self._next_timer, due)
