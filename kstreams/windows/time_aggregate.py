"""Aggregate by windows laid out in time: tumbling, hopping, calendar, one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.state.window_store import WindowStore
from kstreams.windows.kinds import TimeWindows
from kstreams.windows.supplier import WindowedProcessor
from kstreams.windows.windowed import Windowed

__all__ = ("TimeAggregate",)

K = TypeVar("K")
"""Type of the keys."""
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
        store: WindowStore[Any, Any] = context.store(self.plan.store)
        forward, late = self.outputs(context)
        aggregator = self.plan.aggregator
        init, add, result = aggregator.init, aggregator.add, aggregator.result
        get, put, drop = store.get_stamped, store.put, context.drop
        starts, end_of, lag = windows.starts, windows.end, windows.lag_ms
        each = not self.plan.finals
        closer = _Closer(store, end_of, None if each else self._final(forward))
        self.at_close(context, closer.close)

        def process(record: Record[K, V]) -> None:
            key, timestamp = record.key, record.timestamp
            if key is None:
                drop("null-key")
                return
            found = starts(timestamp)
            if not found:
                drop("no-window")
                return
            closed = context.stream_time - lag
            for start in found:
                end = end_of(start)
                if end <= closed:
                    late(record, start, end)
                    continue
                before = get(key, start)
                if before is None:
                    state, latest = init(record), timestamp
                    closer.next_end = min(closer.next_end, end)
                else:
                    state = add(before[0], record)
                    latest = max(before[1], timestamp)
                put(key, start, state, timestamp_ms=latest)
                if each:
                    forward(
                        Record(Windowed(key, start, end), result(state), latest, record.headers)
                    )

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
        store: WindowStore[Any, Any],
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
        for start, key, state, latest in self._store.scan(self._first):
            end = self._end_of(start)
            if end > closed:
                self.next_end = end
                return
            if self._final is not None:
                self._final(key, start, end, state, latest)
            self._store.put(key, start, None)
            # No window that starts so early can come any more.
            self._first = start
        self.next_end = float("inf")
