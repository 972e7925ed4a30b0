"""Aggregate by sessions."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeVar

from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.state.session_store import SessionStore
from kstreams.windows.late import LateCall
from kstreams.windows.supplier import Plan, WindowedProcessor
from kstreams.windows.windowed import Windowed

__all__ = ("SessionAggregate", "joining")

K = TypeVar("K")
"""Type of the keys."""
V = TypeVar("V", contravariant=True)
"""Type of the values that come in."""
A = TypeVar("A", covariant=True)
"""Type of the results."""


class SessionAggregate(WindowedProcessor[K, V, A]):
    """A record joins and merges what is within its gap and has not closed.

    Source: `org.apache.kafka.streams.kstream.internals.KStreamSessionWindowAggregate`;
    departs from it where that merges sessions that have closed already, or misses some
    that have not.
    """

    def bind(self, context: ProcessorContext[Windowed[K], A]) -> Callable[[Record[K, V]], None]:
        """Return what processes a record."""
        store: SessionStore[Any, Any] = context.store(self.plan.store)
        forward, late = self.outputs(context)
        drop = context.drop
        closer = _Closer(store, self._final(forward) if self.plan.finals else None)
        self.at_close(context, closer.close)
        join = joining(self.plan, store, None if self.plan.finals else forward, late)

        def process(record: Record[K, V]) -> None:
            if record.key is None:
                drop("null-key")
            elif record.timestamp < 0:
                drop("no-window")
            else:
                closer.next_end = min(closer.next_end, join(record, context.stream_time))

        return process

    def _final(
        self, forward: Callable[[Record[Windowed[K], A]], None]
    ) -> Callable[[Any, int, int, Any], None]:
        result = self.plan.aggregator.result

        def final(key: Any, start: int, end: int, state: Any) -> None:  # noqa: ANN401  # erased
            forward(Record(Windowed(key, start, end), result(state), end))

        return final


def joining(
    plan: Plan,
    store: SessionStore[Any, Any],
    forward: Callable[[Record[Any, Any]], None] | None,
    late: LateCall,
) -> Callable[[Record[Any, Any], int], float]:
    """Return what lets a record join sessions, and returns the end of the one it is in.

    Args:
        plan: The aggregation.
        store: Where sessions are.
        forward: Takes updates; None for nobody.
        late: Takes what is refused.
    """
    windows, aggregator = plan.windows, plan.aggregator
    gap, lag = windows.gap_ms, windows.lag_ms

    def join(record: Record[Any, Any], stream_time: int) -> float:
        key, time = record.key, record.timestamp
        closed = stream_time - lag
        found = store.find_sessions(key, max(time - gap, closed + 1), time + gap)
        if not found and time <= closed:
            late(record, time, time)
            return float("inf")
        start = min(time, found[0][0]) if found else time
        end = max(time, found[-1][1]) if found else time
        swallowed = [(old_start, old_end) for old_start, old_end, _ in found]
        state = _merged(aggregator, found, record)
        store.merge(key, swallowed, start, end, state)
        if forward is None:
            return end
        if (start, end) != (time, time):
            for old_start, old_end in swallowed:
                gone: Any = None
                old = Windowed(key, old_start, old_end)
                forward(Record(old, gone, old_end, record.headers))
        window = Windowed(key, start, end)
        forward(Record(window, aggregator.result(state), end, record.headers))
        return end

    return join


def _merged(aggregator: Any, found: list[tuple[int, int, Any]], record: Any) -> Any:  # noqa: ANN401
    """Return the state of sessions and a record."""
    if not found:
        return aggregator.init(record)
    return aggregator.add(reduce(aggregator.merge, [state for _, _, state in found]), record)


class _Closer:
    """Removes closed sessions, after calling `final` for each.

    `next_end` is only a hint that spares looks at the store: no session ends before it.
    """

    def __init__(
        self,
        store: SessionStore[Any, Any],
        final: Callable[[Any, int, int, Any], None] | None,
    ) -> None:
        self._store = store
        self._final = final
        self.next_end: float = 0

    def close(self, closed: int) -> None:
        """Close what has ended at `closed` or before."""
        if closed < self.next_end:
            return
        for key, start, end, state in self._store.take_ended(closed):
            if self._final is not None:
                self._final(key, start, end, state)
        following = self._store.next_wake()
        self.next_end = float("inf") if following is None else following
