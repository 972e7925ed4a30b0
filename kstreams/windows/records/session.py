"""Record-by-record aggregation by session windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeVar

from kstreams._types import K
from kstreams.record import Record
from kstreams.state.stores.session.rows import SessionRows
from kstreams.state.stores.state_store import StateStore
from kstreams.windows.plan import AggregationPlan
from kstreams.windows.records.closing import Closer
from kstreams.windows.records.emission.emitter import Emitter, Process
from kstreams.windows.records.lateness import LateCall, LatenessClock
from kstreams.windows.records.processor import WindowedProcessor
from kstreams.windows.rules import DropReason, closed_end

__all__ = ("SessionAggregate", "session_join")

V = TypeVar("V", contravariant=True)
"""Type of the input values."""
A = TypeVar("A", covariant=True)
"""Type of the results."""


_Session = tuple[int, int, Any]
"""Start (ms), end (ms) and state of a session."""


class SessionAggregate(WindowedProcessor[K, V, A]):
    """Aggregates by sessions: a record joins, and merges, the open sessions within the gap.

    Source: `org.apache.kafka.streams.kstream.internals.KStreamSessionWindowAggregate`; differs
    where Kafka Streams merges sessions that are already closed, or misses open sessions.
    """

    def aggregation(
        self,
        store: StateStore[Any],
        clock: LatenessClock,
        emitter: Emitter,
        late: LateCall,
        drop: Callable[[DropReason], None],
    ) -> tuple[Process, Closer]:
        """Return the function that processes a record, and the object that closes sessions."""
        plan, delay = self.plan, self.plan.windows.close_delay_ms
        rows: SessionRows[Any, Any] = SessionRows.of(store)
        join = session_join(plan, rows, emitter, late)
        closer = _SessionCloser(rows, emitter if plan.emits_on_close else None)

        def process(record: Record[Any, Any]) -> None:
            if record.key is None:
                drop("null-key")
            elif record.timestamp < 0:
                drop("no-window")
            else:
                end = join(record, closed_end(clock.stream_time, delay))
                if end < closer.next_end:
                    closer.next_end = end

        return process, closer


def session_join(
    plan: AggregationPlan, rows: SessionRows[Any, Any], emitter: Emitter, late: LateCall
) -> Callable[[Record[Any, Any], int], float]:
    """Return a function that adds a record to its session, and returns the session's end (ms).

    The second argument of the function is the last closed end (ms). For a late record, the function
    returns infinity.

    Args:
        plan: The aggregation.
        rows: The store's sessions.
        emitter: Receives changes, except with `on_close()`.
        late: Receives late records.
    """
    gap, aggregator, all_deletions = plan.windows.gap_ms, plan.aggregator, plan.holds_back
    row_of, replace_row = rows.get, rows.replace
    init, add, merge = aggregator.init, aggregator.add, aggregator.merge
    update = None if plan.emits_on_close else emitter.update

    def join(record: Record[Any, Any], closed: int) -> float:
        key, time = record.key, record.timestamp
        row = row_of(key)
        near, far = ((), ()) if row is None else _divided(row[1], time, gap, closed)
        if not near:
            if time <= closed:
                late(record, time, time)
                return float("inf")
            start = end = time
            state = init(record)
        else:
            start, end, state = near[0]
            if len(near) > 1:
                end, state = near[-1][1], reduce(merge, [s for _, _, s in near])
            if time < start:
                start = time
            if time > end:
                end = time
            state = add(state, record)
        session = (start, end, state)
        replace_row(key, row, tuple(sorted([*far, session], key=_start)) if far else (session,))
        if update is not None:
            if all_deletions or start != end:  # else it takes the place of its like
                for gone_start, gone_end, _ in near:
                    update(record, gone_start, gone_end, None)
            update(record, start, end, (state, end))
        return end

    return join


def _divided(
    sessions: tuple[_Session, ...], time: int, gap: int, closed: int
) -> tuple[Sequence[_Session], Sequence[_Session]]:
    """Return the open sessions within the inactivity gap of a time, and all other sessions.

    Sessions that end at `closed` (ms) or before are not open.
    """
    earliest, latest = time - gap, time + gap
    if earliest <= closed:
        earliest = closed + 1
    if len(sessions) == 1:
        start, end, _ = sessions[0]
        return (sessions, ()) if end >= earliest and start <= latest else ((), sessions)
    near = [each for each in sessions if each[1] >= earliest and each[0] <= latest]
    return near, [each for each in sessions if not (each[1] >= earliest and each[0] <= latest)]


def _start(session: _Session) -> int:
    return session[0]


class _SessionCloser:
    """Deletes closed sessions, and with `on_close()` forwards their final results first.

    `next_end` is a lower bound of the ends of all sessions, which saves reads of the store.
    """

    def __init__(self, rows: SessionRows[Any, Any], emitter: Emitter | None) -> None:
        self._rows = rows
        self._emitter = emitter
        self.next_end: float = 0

    def close(self, closed_ms: int) -> None:
        """Close the sessions that end at a time (ms) or before."""
        if closed_ms < self.next_end:
            return
        for key, start, end, state in self._rows.take_ended(closed_ms):
            if self._emitter is not None:
                self._emitter.close(key, start, end, (state, end))
        following = self._rows.next_timer()
        self.next_end = float("inf") if following is None else following

    def last_end(self) -> int | None:
        """Return the last end of a session, ms; None if there is no session."""
        return self._rows.last_end()
