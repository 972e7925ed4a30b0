"""The rows of a session store: the sessions of a key in one row, with a timer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.serde.spans import SpansSerde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.state_store import StoreRows
from kstreams.state.stores.timed_rows import TimedRows

__all__ = ("Session", "SessionRow", "SessionRows")


Session = tuple[int, int, V]
"""The start and end (ms, both inclusive) and the value of a session."""

SessionRow = tuple[int, tuple[Session[V], ...]]
"""The row's timer (ms), before which no session of the row ends, and the sessions by start."""


class SessionRows(StoreRows, Generic[K, V]):
    """The rows of a session store: one row per key, with all sessions of the key.

    A lookup is one read. The index of timers finds the rows whose sessions have ended. The index
    need not be written while a session grows, because a timer may be earlier than the session's
    end.

    Args:
        name: The store's name.
        key: Serde of the keys.
        value: Serde of the values.
        overlay: The write-back caches of the task's stores.

    Attributes:
        overlay: The store's write-back cache.
        value: Serde of the values.
        get: Returns a key's row, or None.
        next_timer: Returns a time (ms) before which no session ends, or None without sessions.
    """

    def __init__(self, name: str, key: Serde[K], value: Serde[V], overlay: Overlay) -> None:
        self._rows: TimedRows[K, tuple[Session[V], ...]] = TimedRows(
            name, key, SpansSerde(value), overlay
        )
        self._key = key.ordered
        self.value = value
        self.overlay = self._rows.overlay
        self.get: Callable[[K], SessionRow[V] | None] = self._rows.get
        self.next_timer: Callable[[], int | None] = self._rows.next_timer

    def sessions(self, key: K) -> tuple[Session[V], ...]:
        """Return a key's sessions, by start, then by end."""
        found = self._rows.get(key)
        return () if found is None else found[1]

    def scan(self, *, reverse: bool = False) -> Iterator[tuple[K, tuple[Session[V], ...]]]:
        """Yield keys with their sessions, by key."""
        return self._rows.rows(reverse=reverse)

    def put(self, key: K, session: Session[V]) -> None:
        """Add a session to a key, or replace the session with the same start and end."""
        start, end, _ = session
        found = self._rows.get(key)
        if found is None:
            self._rows.put(key, end, (session,))
            return
        timer, sessions = found
        kept = [each for each in sessions if each[:2] != (start, end)]
        kept.append(session)
        kept.sort(key=_bounds)
        self._rows.put(key, min(timer, end), tuple(kept))

    def delete(self, key: K, start_ms: int, end_ms: int) -> None:
        """Delete a session of a key; a missing session is no error."""
        sessions = self.sessions(key)
        kept = tuple(each for each in sessions if each[:2] != (start_ms, end_ms))
        if kept != sessions:
            self._set(key, kept)

    def replace(
        self, key: K, before: SessionRow[V] | None, sessions: tuple[Session[V], ...]
    ) -> None:
        """Set a key's sessions (at least one, by start); `before` is the last result of `get`."""
        timer = sessions[0][1]
        if before is not None and before[0] < timer:
            timer = before[0]
        self._rows.replace(key, before, timer, sessions)

    def take_ended(self, until_ms: int) -> list[tuple[K, int, int, V]]:
        """Delete and return all sessions with `end <= until_ms`, by end, start, then key."""
        taken: list[tuple[K, int, int, V]] = []
        for key in sorted(self._rows.due(until_ms), key=self._key.serialize):
            sessions = self.sessions(key)
            taken += [(key, *session) for session in sessions if session[1] <= until_ms]
            self._set(key, tuple(session for session in sessions if session[1] > until_ms))
        taken.sort(key=_end)
        return taken

    def last_end(self) -> int | None:
        """Return the latest end of all sessions, ms, or None without sessions; scans the store."""
        ends = (end for _, sessions in self.scan() for _, end, _ in sessions)
        return max(ends, default=None)

    def _set(self, key: K, sessions: tuple[Session[V], ...]) -> None:
        if sessions:
            self._rows.put(key, min(end for _, end, _ in sessions), sessions)
        else:
            self._rows.delete(key)


def _bounds(session: tuple[int, int, object]) -> tuple[int, int]:
    return session[:2]


def _end(session: tuple[object, int, int, object]) -> tuple[int, int]:
    return session[2], session[1]
