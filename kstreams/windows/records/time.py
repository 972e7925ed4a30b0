"""Aggregate by windows laid out in time: tumbling, hopping, calendar, one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kstreams._types import K
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.state.stores.window.rows import WindowRows
from kstreams.windowed import Windowed
from kstreams.windows.kinds.bounds import bounds_of
from kstreams.windows.kinds.contract import TimeWindows
from kstreams.windows.supplier import WindowedProcessor

__all__ = ("TimeAggregate",)

V = TypeVar("V", contravariant=True)
"""Type of the values that come in."""
A = TypeVar("A", covariant=True)
"""Type of the results."""


class TimeAggregate(WindowedProcessor[K, V, A]):
    """A window is judged alone: a late record may enter one hop and miss another.

    Source: `org.apache.kafka.streams.kstream.internals.KStreamWindowAggregate`.
    """

    def bind(self, context: ProcessorContext[Windowed[K], A]) -> Callable[[Record[K, V]], None]:
        """Return what processes a record."""
        windows: TimeWindows = self.plan.windows
        store: WindowRows[Any, Any] = WindowRows.of(context.store(self.plan.store))
        aggregator, lag = self.plan.aggregator, windows.close_delay_ms
        init, add, drop = aggregator.init, aggregator.add, context.drop
        get, put, held = store.reader(), store.writer(), bounds_of(windows)
        end_of, result, each = windows.end, aggregator.result, not self.plan.emits_on_close
        forward, hold, late = self.outputs(
            context, lambda handle: Windowed(handle[1], handle[0], end_of(handle[0]))
        )
        closer = _Closer(store, end_of, self._final(forward) if self.plan.emits_on_close else None)
        self.at_close(context, closer.close, closer.last_end)

        def process(record: Record[K, V]) -> None:
            key, timestamp = record.key, record.timestamp
            if key is None:
                drop("null-key")
                return
            found = held(timestamp)
            if not found:
                drop("no-window")
                return
            closed = context.stream_time - lag
            for start, end in found:
                if end <= closed:
                    late(record, start, end)
                    continue
                handle = (start, key)
                before = get(handle)
                if before is None:
                    made = (init(record), timestamp)
                    if end < closer.next_end:
                        closer.next_end = end
                else:
                    state, latest = before
                    if timestamp > latest:
                        latest = timestamp
                    made = (add(state, record), latest)
                put(handle, made)
                if hold is not None:
                    hold((handle, made))
                elif each:
                    window = Windowed(key, start, end)
                    forward(Record(window, result(made[0]), made[1], record.headers))

        return process

    def _final(
        self, forward: Callable[[Record[Windowed[K], A]], None]
    ) -> Callable[[Any, int, int, Any, int], None]:
        result = self.plan.aggregator.result

        def final(key: Any, start: int, end: int, state: Any, latest: int) -> None:  # noqa: ANN401
            forward(Record(Windowed(key, start, end), result(state), latest))

        return final


class _Closer:
    """Drops closed windows, after calling `final` for each.

    `next_end` and the first start are only hints that spare looks at the store: no window
    ends before the one, none starts before the other.
    """

    def __init__(
        self,
        store: WindowRows[Any, Any],
        end_of: Callable[[int], int],
        final: Callable[[Any, int, int, Any, int], None] | None,
    ) -> None:
        self._store = store
        self._end_of = end_of
        self._final = final
        self._first: int | None = None
        self.next_end: float = -1

    def close(self, closed: int) -> None:
        """Close what has ended at `closed` or before."""
        if closed < self.next_end:
            return
        store, end_of, first = self._store, self._end_of, self._first
        start = store.first_start(first)
        past = None
        while start is not None and end_of(start) <= closed:
            past = start + 1
            start = store.first_start(past)
        if past is not None:
            if self._final is not None:
                for (begin, key), (state, latest) in store.scan(first, past):
                    self._final(key, begin, end_of(begin), state, latest)
            store.drop_before(past, from_ms=first)
            # No window that starts so early can come any more.
            self._first = past
        self.next_end = float("inf") if start is None else end_of(start)

    def last_end(self) -> int | None:
        """Return the end of the last window, or None without any."""
        last = self._store.last_start()
        return None if last is None else self._end_of(last)
