"""The kind of session stores, and the function that defines such a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import override

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import ChangelogForm
from kstreams.state.stores.kind import Content, StoreKind, Times, is_within
from kstreams.state.stores.session.changelog import SessionForm
from kstreams.state.stores.session.store import SessionStore
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timed_rows import key_of_timed_row
from kstreams.windowed import Windowed

__all__ = ("SESSION", "SessionKind", "session_store")


_Live = SessionStore[Any, Any]
_Row = tuple[Windowed[Any], Any]
"""A key with its session, and the session's value."""


@dataclass(frozen=True)
class SessionKind(StoreKind[_Live]):
    """The kind of stores with one value per session, ordered by key, then by start."""

    columns: ClassVar[tuple[str, ...]] = ("key", "start_ms", "end_ms", "value")
    has_times: ClassVar[bool] = True
    divides_rows: ClassVar[bool] = True

    @override
    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        return SessionStore(spec, overlay)

    @override
    def key_of_row(self, row: bytes) -> bytes | None:
        return key_of_timed_row(row)

    @override
    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        return SessionForm(spec)

    def routed_by(self, key: Windowed[Any]) -> object:
        """Return the key, without its window."""
        return key.key

    @override
    def scan(self, store: _Live, start: object, end: object, *, reverse: bool) -> Iterator[_Row]:
        rows = store.fetch_all(reverse=reverse)
        return (row for row in rows if is_within(row[0].key, start, end))

    def order(self, spec: StoreSpec[_Live]) -> Callable[[_Row], tuple[bytes, int, int]]:
        """Return a function that returns key, start and end of a row."""
        data = spec.key.ordered.serialize
        return lambda row: (data(row[0].key), row[0].start_ms, row[0].end_ms)

    @override
    def flat(self, row: _Row) -> Iterator[tuple[Any, ...]]:
        window, value = row
        yield window.key, window.start_ms, window.end_ms, value

    def flat_of_key(self, store: _Live, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        """Yield start, end and value of the key's sessions that overlap the time span `times`."""
        low, high = times
        for window, value in store.fetch(key):
            if (low is None or window.end_ms >= low) and (high is None or window.start_ms < high):
                yield window.start_ms, window.end_ms, value

    @override
    def fill(self, store: _Live, key: Windowed[Any], value: Any) -> None:
        store.put(key, value)

    @override
    def evict(self, store: _Live, key: Windowed[Any]) -> None:
        store.delete(key)

    def contents(self, spec: StoreSpec[_Live], overlay: Overlay) -> Iterator[Content]:
        """Yield keys and values, with the starts and ends of sessions."""
        for window, value in self.open(spec, overlay).fetch_all():
            yield Content(window.key, value, (window.start_ms, window.end_ms))

    @override
    def filling(self, spec: StoreSpec[_Live], overlay: Overlay) -> Callable[[Content], object]:
        store = self.open(spec, overlay)

        def put(content: Content) -> None:
            store.put(Windowed(content.key, *content.times), content.value)

        return put


SESSION = SessionKind("session")


def session_store(name: str, *, key: Serde[K], value: Serde[V]) -> StoreSpec[SessionStore[K, V]]:
    """Define a session store.

    Args:
        name: The store's name: unique in the topology, and recorded with the state.
        key: Serde of the keys.
        value: Serde of the values; for `windowed_aggregate` the aggregator's `state`.
    """
    return StoreSpec(name, SESSION, key, value)
