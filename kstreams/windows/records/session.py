"""Aggregate by sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeVar

from kstreams._types import K
from kstreams.aggregators.aggregator import Aggregator
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.state.stores.session.rows import SessionRows
from kstreams.windowed import Windowed
from kstreams.windows.late import LateCall
from kstreams.windows.plan import AggregationPlan
from kstreams.windows.records.emission.batch_end import Change
from kstreams.windows.supplier import WindowedProcessor

__all__ = ("SessionAggregate", "Tell", "joining", "told")

V = TypeVar("V", contravariant=True)
"""Type of the values that come in."""
A = TypeVar("A", covariant=True)
"""Type of the results."""


_Session = tuple[int, int, Any]
"""Start and end (ms), and state."""

Tell = Callable[[Record[Any, Any], Sequence[_Session], _Session], None]
"""Takes a record, the sessions that are gone by it, and the one that it is in."""


class SessionAggregate(WindowedProcessor[K, V, A]):
    """A record joins and merges what is within its gap and has not closed.

    Source: `org.apache.kafka.streams.kstream.internals.KStreamSessionWindowAggregate`;
    departs from it where that merges sessions that have closed already, or misses some
    that have not.
    """

    def bind(self, context: ProcessorContext[Windowed[K], A]) -> Callable[[Record[K, V]], None]:
        """Return what processes a record."""
        store: SessionRows[Any, Any] = SessionRows.of(context.store(self.plan.store))
        forward, hold, late = self.outputs(
            context, lambda handle: Windowed(handle[1], handle[0], handle[2])
        )
        drop = context.drop
        closer = _Closer(store, self._final(forward) if self.plan.emits_on_close else None)
        self.at_close(context, closer.close, closer.last_end)
        join = joining(self.plan, store, self._teller(forward, hold), late)

        def process(record: Record[K, V]) -> None:
            if record.key is None:
                drop("null-key")
            elif record.timestamp < 0:
                drop("no-window")
            else:
                end = join(record, context.stream_time)
                if end < closer.next_end:
                    closer.next_end = end

        return process

    def _teller(
        self,
        forward: Callable[[Record[Windowed[K], A]], None],
        hold: Callable[[Change], None] | None,
    ) -> Tell | None:
        """Return what takes changes of sessions, if anybody wants them."""
        if self.plan.emits_on_close:
            return None
        if hold is None:
            return told(self.plan.aggregator, forward)

        def tell(record: Record[Any, Any], gone: Sequence[_Session], session: _Session) -> None:
            key = record.key
            for start, end, _ in gone:
                hold(((start, key, end), None))
            start, end, state = session
            hold(((start, key, end), (state, end)))

        return tell

    def _final(
        self, forward: Callable[[Record[Windowed[K], A]], None]
    ) -> Callable[[Any, int, int, Any], None]:
        result = self.plan.aggregator.result

        def final(key: Any, start: int, end: int, state: Any) -> None:  # noqa: ANN401  # erased
            forward(Record(Windowed(key, start, end), result(state), end))

        return final


def told(
    aggregator: Aggregator[Any, Any, Any, Any], forward: Callable[[Record[Any, Any]], None]
) -> Tell:
    """Return what forwards each change of a session at once."""
    result = aggregator.result

    def tell(record: Record[Any, Any], gone: Sequence[_Session], session: _Session) -> None:
        key, headers = record.key, record.headers
        for start, end, _ in gone:
            nothing: Any = None
            forward(Record(Windowed(key, start, end), nothing, end, headers))
        start, end, state = session
        forward(Record(Windowed(key, start, end), result(state), end, headers))

    return tell


def joining(
    plan: AggregationPlan, store: SessionRows[Any, Any], tell: Tell | None, late: LateCall
) -> Callable[[Record[Any, Any], int], float]:
    """Return what lets a record join sessions, and returns the end of the one it is in.

    Args:
        plan: The aggregation.
        store: Where sessions are.
        tell: Takes changes; None for nobody.
        late: Takes what is refused.
    """
    windows, aggregator = plan.windows, plan.aggregator
    gap, lag, tells_all = windows.gap_ms, windows.close_delay_ms, plan.holds_back
    row_of, put_row = store.get, store.replace
    init, add, merge = aggregator.init, aggregator.add, aggregator.merge

    def join(record: Record[Any, Any], stream_time: int) -> float:
        key, time = record.key, record.timestamp
        closed = stream_time - lag
        row = row_of(key)
        near, far = ((), ()) if row is None else _divided(row[1], time, gap, closed)
        if not near:
            if time <= closed:
                late(record, time, time)
                return float("inf")
            start = end = time
            state = init(record)
        else:
            start, end = min(time, near[0][0]), max(time, near[-1][1])
            state = near[0][2] if len(near) == 1 else reduce(merge, [s for _, _, s in near])
            state = add(state, record)
        session = (start, end, state)
        put_row(key, row, tuple(sorted([*far, session], key=_start)) if far else (session,))
        if tell is not None:
            gone = near if tells_all or (start, end) != (time, time) else ()
            tell(record, gone, session)
        return end

    return join


def _divided(
    sessions: tuple[_Session, ...], time: int, gap: int, closed: int
) -> tuple[Sequence[_Session], Sequence[_Session]]:
    """Return the open sessions that a time is no more than a gap away from, and the others."""
    earliest, latest = max(time - gap, closed + 1), time + gap
    if len(sessions) == 1:
        start, end, _ = sessions[0]
        return (sessions, ()) if end >= earliest and start <= latest else ((), sessions)
    near = [each for each in sessions if each[1] >= earliest and each[0] <= latest]
    return near, [each for each in sessions if not (each[1] >= earliest and each[0] <= latest)]


def _start(session: _Session) -> int:
    return session[0]


class _Closer:
    """Removes closed sessions, after calling `final` for each.

    `next_end` is only a hint that spares looks at the store: no session ends before it.
    """

    def __init__(
        self,
        store: SessionRows[Any, Any],
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
        following = self._store.next_timer()
        self.next_end = float("inf") if following is None else following

    def last_end(self) -> int | None:
        """Return the last end of a session, or None without any."""
        return self._store.last_end()
