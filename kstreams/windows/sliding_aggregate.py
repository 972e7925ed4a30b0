"""Aggregate by sliding windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.state.sliding_store import SlidingStore
from kstreams.windows.slices import Slices
from kstreams.windows.sliding import SlidingWindows
from kstreams.windows.supplier import WindowedProcessor
from kstreams.windows.windowed import Windowed

__all__ = ("SlidingAggregate",)

K = TypeVar("K")
"""Type of the keys."""
V = TypeVar("V", contravariant=True)
"""Type of the values that come in."""
A = TypeVar("A", covariant=True)
"""Type of the results."""

_FAR = 1 << 62


class SlidingAggregate(WindowedProcessor[K, V, A]):
    """Keeps a state for each key and time, and merges those a window is made of.

    Source: `org.apache.kafka.streams.kstream.internals.KStreamSlidingWindowAggregate`;
    departs from it where that loses the later window of a late record, or forwards a
    window twice.
    """

    def bind(self, context: ProcessorContext[Windowed[K], A]) -> Callable[[Record[K, V]], None]:
        """Return what processes a record."""
        windows: SlidingWindows = self.plan.windows
        store: SlidingStore[Any, Any] = context.store(self.plan.store)
        forward, late = self.outputs(context)
        aggregator, drop = self.plan.aggregator, context.drop
        span, lag, finals = windows.difference_ms, windows.lag_ms, self.plan.finals
        closer = _Closer(store, windows, aggregator, forward if finals else None)
        self.at_close(context, closer.close)

        def process(record: Record[K, V]) -> None:
            key, time = record.key, record.timestamp
            if key is None or record.value is None:
                drop("null-key" if key is None else "null-value")
                return
            if time < 0:
                drop("no-window")
                return
            opened = context.stream_time - lag + 1  # windows that end before it are closed
            if time + span < opened:
                late(record, max(0, time - span), max(time, span))
                return
            slices, wake = closer.open_slices(key, opened)
            is_new = slices.add(time, record)
            # No window that the record makes or changes ends before the record's time.
            closer.keep(key, slices, opened, None if wake is None else min(wake, time))
            if finals:
                return
            for start, state, latest in slices.changed(time, opened, is_new=is_new):
                window = Windowed(key, start, start + span)
                forward(Record(window, aggregator.result(state), latest, record.headers))

        return process


class _Closer:
    """Forwards windows that have closed, if asked to, and drops slices nobody needs.

    `next_wake` is only a hint that spares looks at the store: no row wakes before it.
    """

    def __init__(
        self,
        store: SlidingStore[Any, Any],
        windows: SlidingWindows,
        aggregator: Any,  # noqa: ANN401  # erased
        forward: Callable[[Record[Any, Any]], None] | None,
    ) -> None:
        self._store = store
        self._span = windows.difference_ms
        self._aggregator = aggregator
        self._forward = forward
        self._next_wake = -1

    def close(self, closed: int) -> None:
        """Deal with all windows that have ended at `closed` or before."""
        if closed < self._next_wake:
            return
        for key in self._store.due(closed):
            slices, wake = self.open_slices(key, closed + 1)
            self.keep(key, slices, closed + 1, wake)
        following = self._store.next_wake()
        self._next_wake = _FAR if following is None else following

    def open_slices(self, key: Any, opened: int) -> tuple[Slices, int | None]:  # noqa: ANN401
        """Forward a key's windows that end before `opened`.

        Returns:
            The slices that are still needed, and a time before which none of their windows
            ends; None when windows are not forwarded on closing.
        """
        wake, done, pairs = self._store.row(key) or (_FAR, 0, ())
        slices = Slices(pairs, self._span, self._aggregator)
        if self._forward is None:
            return slices.since(opened - self._span - 1), None
        if wake >= opened:
            return slices, wake
        for start, state, latest in slices.ending(done, opened):
            window = Windowed(key, start, start + self._span)
            self._forward(Record(window, self._aggregator.result(state), latest))
        slices = slices.since(opened - self._span - 1)
        following = slices.next_end(opened)
        return slices, _FAR if following is None else following

    def keep(self, key: Any, slices: Slices, opened: int, wake: int | None) -> None:  # noqa: ANN401
        """Store a key's slices; windows that end before `opened` are done with.

        With no window to wake for, the row wakes when its last slice can be dropped.
        """
        unneeded = slices.last + self._span + 1
        wake = unneeded if wake is None or wake == _FAR else max(wake, opened)
        self._store.put(key, slices.pairs, done_ms=opened, wake_ms=wake)
        self._next_wake = min(self._next_wake, wake)
