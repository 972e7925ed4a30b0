"""The kind of window stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import ChangelogForm
from kstreams.state.stores.kind import Content, StoreKind, Times
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.window.changelog import WindowForm
from kstreams.state.stores.window.store import WindowStore

__all__ = ("WINDOW", "WindowKind", "window_store")


_Live = WindowStore[Any, Any]
_Row = tuple[tuple[Any, int], Any]
"""Key and start (ms) of a window, and its value."""


@dataclass(frozen=True)
class WindowKind(StoreKind[_Live]):
    """A value for each key and window, by start, then by key."""

    columns: ClassVar[tuple[str, ...]] = ("key", "start_ms", "value")
    has_times: ClassVar[bool] = True

    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        """Return the live store."""
        return WindowStore(spec, overlay)

    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        """Return windowed keys, and values with their own times."""
        return WindowForm(spec)

    def scan(self, store: _Live, start: object, end: object, *, reverse: bool) -> Iterator[_Row]:
        """Yield all windows."""
        return store.fetch_all(reverse=reverse)

    def order(self, spec: StoreSpec[_Live]) -> Callable[[_Row], tuple[int, bytes]]:
        """Return start and key."""
        data = spec.key.ordered.serialize
        return lambda row: (row[0][1], data(row[0][0]))

    def flat(self, row: _Row) -> Iterator[tuple[Any, ...]]:
        """Yield the row as one."""
        (key, start_ms), value = row
        yield key, start_ms, value

    def flat_of_key(self, store: _Live, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        """Yield start and value of windows that start within the times."""
        return store.fetch(key, *times)

    def contents(self, spec: StoreSpec[_Live], overlay: Overlay) -> Iterator[Content]:
        """Yield keys and values, with starts and timestamps."""
        for start_ms, key, value, timestamp_ms in self.open(spec, overlay).scan():
            yield Content(key, value, (start_ms, timestamp_ms))

    def filling(self, spec: StoreSpec[_Live], overlay: Overlay) -> Callable[[Content], object]:
        """Put a window, with its timestamp."""
        store = self.open(spec, overlay)

        def put(content: Content) -> None:
            start_ms, timestamp_ms = content.times
            store.put(content.key, start_ms, content.value, timestamp_ms=timestamp_ms)

        return put


WINDOW = WindowKind("window")


def window_store(name: str, *, key: Serde[K], value: Serde[V]) -> StoreSpec[WindowStore[K, V]]:
    """Define a window store.

    Args:
        name: Unique in the topology; recorded with the state.
        key: Serde of the keys.
        value: Serde of the values; for `windowed_aggregate` the aggregator's `state`.
    """
    return StoreSpec(name, WINDOW, key, value)
