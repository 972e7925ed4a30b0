"""The session store: the sessions of a key in one row, found again when they have ended."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Generic

from kstreams._types import K, V
from kstreams.serde.spans import SpansSerde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.session.columns import SessionColumns
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timed_rows import TimedRows

__all__ = ("SessionRow", "SessionStore")


SessionRow = tuple[int, tuple[tuple[int, int, V], ...]]
"""A time (ms) before which no session ends, and sessions by start."""


class SessionStore(Generic[K, V]):
    """A task's own part of a store of sessions; made from `session_store(...)`.

    A session is `(start_ms, end_ms, value)`, both bounds inclusive. Those of a key lie in
    one row, so a look-up is one read; an index by time finds the rows whose sessions have
    ended, and need not be written while a session grows. The store never drops anything
    by itself: retention is its owner's, by stream time.

    Attributes:
        row: Returns a time before which no session of a key ends, and the sessions, or None.

    Source: `org.apache.kafka.streams.state.SessionStore`, without segments.
    """

    def __init__(self, spec: StoreSpec[SessionStore[K, V]], overlay: Overlay) -> None:
        self._value = spec.value
        self._key = spec.key.ordered
        self._rows: TimedRows[K, tuple[tuple[int, int, V], ...]] = TimedRows(
            spec.name, spec.key, SpansSerde(spec.value), overlay
        )
        self.row: Callable[[K], SessionRow[V] | None] = self._rows.get

    def get(self, key: K, start_ms: int, end_ms: int) -> V | None:
        """Return the value of the session with exactly these bounds, or None."""
        for start, end, value in self._of(key):
            if (start, end) == (start_ms, end_ms):
                return value
        return None

    def find_sessions(
        self, key: K, earliest_end_ms: int, latest_start_ms: int
    ) -> list[tuple[int, int, V]]:
        """Return a key's sessions with `end >= earliest_end` and `start <= latest_start`."""
        return [
            session
            for session in self._of(key)
            if session[1] >= earliest_end_ms and session[0] <= latest_start_ms
        ]

    def fetch(self, key: K, *, reverse: bool = False) -> Iterator[tuple[int, int, V]]:
        """Yield all sessions of a key, by start, then by end."""
        sessions = self._of(key)
        return reversed(sessions) if reverse else iter(sessions)

    def fetch_all(self, *, reverse: bool = False) -> Iterator[tuple[K, int, int, V]]:
        """Yield `(key, start, end, value)` of all sessions, by key, then by start."""
        for key, sessions in self._rows.rows(reverse=reverse):
            for start, end, value in reversed(sessions) if reverse else sessions:
                yield key, start, end, value

    def put(self, key: K, start_ms: int, end_ms: int, value: V | None) -> None:
        """Set a session's value; None removes the session.

        Raises:
            ValueError: It ends before it starts.
        """
        if value is None:
            self.remove(key, start_ms, end_ms)
        else:
            self.merge(key, ((start_ms, end_ms),), start_ms, end_ms, value)

    def remove(self, key: K, start_ms: int, end_ms: int) -> None:
        """Remove a session; one that is not there is no error."""
        sessions = self._of(key)
        kept = tuple(session for session in sessions if session[:2] != (start_ms, end_ms))
        if kept != sessions:
            self._set(key, kept)

    def merge(
        self,
        key: K,
        swallowed: Collection[tuple[int, int]],
        start_ms: int,
        end_ms: int,
        value: V,
    ) -> None:
        """Put a session in the place of those with the bounds `swallowed`; one write.

        Raises:
            ValueError: It ends before it starts.
        """
        if end_ms < start_ms:
            raise ValueError(f"a session ends at {end_ms} ms, before its start {start_ms} ms")
        found = self._rows.get(key)
        if found is None:
            self._rows.put(key, end_ms, ((start_ms, end_ms, value),))
            return
        wake, sessions = found
        gone = {*swallowed, (start_ms, end_ms)}
        kept = [session for session in sessions if session[:2] not in gone]
        kept.append((start_ms, end_ms, value))
        kept.sort(key=_bounds)
        self._rows.put(key, min(wake, end_ms), tuple(kept))

    def put_row(
        self, key: K, before: SessionRow[V] | None, sessions: tuple[tuple[int, int, V], ...]
    ) -> None:
        """Set a key's sessions, one or more, by start, where `row` has just returned `before`."""
        wake = sessions[0][1]
        if before is not None and before[0] < wake:
            wake = before[0]
        self._rows.replace(key, before, wake, sessions)

    def take_ended(self, until_ms: int) -> list[tuple[K, int, int, V]]:
        """Remove all sessions with `end <= until`; return them by end, start, then key."""
        taken: list[tuple[K, int, int, V]] = []
        for key in sorted(self._rows.due(until_ms), key=self._key.serialize):
            sessions = self._of(key)
            taken += [(key, *session) for session in sessions if session[1] <= until_ms]
            self._set(key, tuple(session for session in sessions if session[1] > until_ms))
        taken.sort(key=_end)
        return taken

    def columns(self) -> SessionColumns:
        """Return the same sessions as columns; only for values of fixed width."""
        return SessionColumns(self._rows.overlay, self._value)

    def next_wake(self) -> int | None:
        """Return a time (ms) before which no session ends, or None when there is none."""
        return self._rows.next_wake()

    def _of(self, key: K) -> tuple[tuple[int, int, V], ...]:
        found = self._rows.get(key)
        return () if found is None else found[1]

    def _set(self, key: K, sessions: tuple[tuple[int, int, V], ...]) -> None:
        if sessions:
            self._rows.put(key, min(end for _, end, _ in sessions), sessions)
        else:
            self._rows.delete(key)


def _bounds(session: tuple[int, int, object]) -> tuple[int, int]:
    return session[:2]


def _end(session: tuple[object, int, int, object]) -> tuple[int, int]:
    return session[2], session[1]
