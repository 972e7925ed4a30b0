"""The session store: the values of a key's sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic

from kstreams._types import K, V
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.session.rows import Session, SessionRows
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.state_store import StateStore
from kstreams.windowed import Windowed

__all__ = ("SessionStore",)


class SessionStore(StateStore[SessionRows[K, V]], Generic[K, V]):
    """One partition of a session store, which `session_store(...)` defines.

    Both bounds of a session are inclusive. All sessions of a key are read with one lookup. The
    store has no retention: a windowed aggregation deletes its closed sessions.

    Source: `org.apache.kafka.streams.state.SessionStore`, without segments.
    """

    def __init__(self, spec: StoreSpec[SessionStore[K, V]], overlay: Overlay) -> None:
        super().__init__(SessionRows(spec.name, spec.key, spec.value, overlay))

    def get(self, key: Windowed[K]) -> V | None:
        """Return the value of the session with exactly these bounds, or None."""
        for start, end, value in self._rows.sessions(key.key):
            if (start, end) == (key.start_ms, key.end_ms):
                return value
        return None

    def put(self, key: Windowed[K], value: V | None) -> None:
        """Set a session's value; None deletes the session.

        Raises:
            ValueError: The session ends before it starts.
        """
        start, end = key.start_ms, key.end_ms
        if value is None:
            self._rows.delete(key.key, start, end)
        elif end < start:
            raise ValueError(f"a session ends at {end} ms, before its start {start} ms")
        else:
            self._rows.put(key.key, (start, end, value))

    def delete(self, key: Windowed[K]) -> V | None:
        """Delete a session; return its previous value, or None."""
        found = self.get(key)
        if found is not None:
            self._rows.delete(key.key, key.start_ms, key.end_ms)
        return found

    def find_sessions(
        self, key: K, earliest_end_ms: int, latest_start_ms: int, *, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Yield a key's sessions with `end >= earliest_end_ms` and `start <= latest_start_ms`.

        Sessions are sorted by start, then by end; in reverse order with `reverse`.
        """
        sessions = self._rows.sessions(key)
        for start, end, value in reversed(sessions) if reverse else sessions:
            if end >= earliest_end_ms and start <= latest_start_ms:
                yield Windowed(key, start, end), value

    def fetch(self, key: K, *, reverse: bool = False) -> Iterator[tuple[Windowed[K], V]]:
        """Yield all sessions of a key, by start, then by end; `reverse` reverses the order."""
        return _pairs(key, self._rows.sessions(key), reverse=reverse)

    def fetch_all(self, *, reverse: bool = False) -> Iterator[tuple[Windowed[K], V]]:
        """Yield all sessions, by key, then by start; `reverse` reverses the order."""
        for key, sessions in self._rows.scan(reverse=reverse):
            yield from _pairs(key, sessions, reverse=reverse)


def _pairs(
    key: K, sessions: tuple[Session[V], ...], *, reverse: bool
) -> Iterator[tuple[Windowed[K], V]]:
    for start, end, value in reversed(sessions) if reverse else sessions:
        yield Windowed(key, start, end), value
