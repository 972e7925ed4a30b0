"""Aggregate by sliding windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kstreams._types import K
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.state.stores.sliding.rows import SlidingRows
from kstreams.windowed import Windowed
from kstreams.windows.kinds.sliding import SlidingWindows
from kstreams.windows.plan import AggregationPlan
from kstreams.windows.records.emission.batch_end import Change
from kstreams.windows.records.slices import Slices
from kstreams.windows.supplier import WindowedProcessor

__all__ = ("Slicer", "SlidingAggregate")

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
        span, lag, drop = windows.difference_ms, windows.close_delay_ms, context.drop
        forward, hold, late = self.outputs(
            context, lambda handle: Windowed(handle[1], handle[0], handle[0] + span)
        )
        store: SlidingRows[Any, Any] = SlidingRows.of(context.store(self.plan.store))
        slicer = Slicer(self.plan, store, forward, hold)
        self.at_close(context, slicer.close, slicer.last_end)

        def process(record: Record[K, V]) -> None:
            key, time = record.key, record.timestamp
            if key is None or record.value is None:
                drop("null-key" if key is None else "null-value")
            elif time < 0:
                drop("no-window")
            elif time + span < context.stream_time - lag + 1:
                late(record, max(0, time - span), max(time, span))
            else:
                slicer.close_ahead(context.stream_time - lag)
                slicer.add(record, context.stream_time)

        return process


class Slicer:
    """Adds records to slices, forwards windows, and drops slices nobody needs.

    `next_timer` is only a hint that spares looks at the store: no row has an earlier timer.

    Args:
        plan: The aggregation.
        store: Where slices are.
        forward: Takes results.
        hold: Notes changes in its place, if it is there.
    """

    def __init__(
        self,
        plan: AggregationPlan,
        store: SlidingRows[Any, Any],
        forward: Callable[[Record[Any, Any]], None],
        hold: Callable[[Change], None] | None = None,
    ) -> None:
        self._store = store
        self._span: int = plan.windows.difference_ms
        self._lag = plan.windows.close_delay_ms
        self._aggregator = plan.aggregator
        self._finals = plan.emits_on_close
        self._forward = forward
        self._hold = hold
        self._place = plan.store.key.ordered.serialize
        self._next_timer = -1

    def add(self, record: Record[Any, Any], stream_time: int) -> None:
        """Add a record that is not late; forward the windows that it changes or makes."""
        key, time = record.key, record.timestamp
        opened = stream_time - self._lag + 1  # windows that end before it are closed
        slices, wake, ended = self._open(key, opened)
        for final in ended:
            self._forward(final)
        is_new = slices.add(time, record)
        # No window that the record makes or changes ends before the record's time.
        self._keep(key, slices, opened, None if wake is None else min(wake, time))
        if self._finals:
            return
        result, span, hold = self._aggregator.result, self._span, self._hold
        for start, state, latest in slices.changed(time, opened, is_new=is_new):
            if hold is not None:
                hold(((start, key), (state, latest)))
                continue
            window = Windowed(key, start, start + span)
            self._forward(Record(window, result(state), latest, record.headers))

    def close(self, closed: int) -> None:
        """Deal with all windows that have ended at `closed` or before."""
        if closed < self._next_timer:
            return
        self._close_due(closed)
        following = self._store.next_timer()
        self._next_timer = _FAR if following is None else following

    def last_end(self) -> int | None:
        """Return the last end of a window, or None without any."""
        rows = (Slices(row, self._span, self._aggregator) for _, row in self._store.scan())
        ends = (row.last_end() for row in rows)
        return max((end for end in ends if end is not None), default=None)

    def close_ahead(self, closed: int) -> None:
        """Forward final results before a record that may be undone: the hint stays.

        All that ends with one record is so forwarded in one order, whatever its key.
        """
        if self._finals and closed >= self._next_timer:
            self._close_due(closed)

    def _close_due(self, closed: int) -> None:
        finals: list[Record[Any, Any]] = []
        for key in self._store.due(closed):
            slices, wake, ended = self._open(key, closed + 1)
            finals += ended
            self._keep(key, slices, closed + 1, wake)
        place = self._place
        finals.sort(key=lambda record: (record.key.start_ms, place(record.key.key)))
        for record in finals:
            self._forward(record)

    def _open(
        self,
        key: Any,  # noqa: ANN401  # erased
        opened: int,
    ) -> tuple[Slices, int | None, list[Record[Any, Any]]]:
        """Take out a key's slices that no open window needs.

        Returns:
            The slices that are left; a time before which none of their windows ends, None
            when windows are not forwarded on closing; and the results of those that end
            before `opened`.
        """
        wake, done, pairs = self._store.get(key) or (_FAR, 0, ())
        slices = Slices(pairs, self._span, self._aggregator)
        if not self._finals:
            return slices.since(opened - self._span - 1), None, []
        if wake >= opened:
            return slices, wake, []
        result = self._aggregator.result
        ended = [
            Record(Windowed(key, start, start + self._span), result(state), latest)
            for start, state, latest in slices.ending(done, opened)
        ]
        slices = slices.since(opened - self._span - 1)
        following = slices.next_end(opened)
        return slices, _FAR if following is None else following, ended

    def _keep(self, key: Any, slices: Slices, opened: int, wake: int | None) -> None:  # noqa: ANN401
        """Store a key's slices; windows that end before `opened` are done with.

        With no window to wake for, the row wakes when its last slice can be dropped.
        """
        unneeded = slices.last + self._span + 1
        wakes = unneeded if wake is None or wake == _FAR else max(wake, opened)
        self._store.put(key, slices.pairs, done_ms=opened, timer_ms=wakes)
        self._next_timer = min(self._next_timer, wakes)
