"""The window store: a value for each key and window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, Protocol

from kstreams._types import K, V
from kstreams.errors import SerializationError
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.state_store import StateStore
from kstreams.state.stores.window.rows import Row, WindowRows
from kstreams.windowed import NEVER_ENDS, Windowed

__all__ = ("WindowEnds", "WindowStore")


class WindowEnds(Protocol):
    """Returns the end of a window, as all `TimeWindows` do."""

    def end(self, start_ms: int) -> int:
        """Return the end of the window with a start, ms."""
        ...


class WindowStore(StateStore[WindowRows[K, V]], Generic[K, V]):
    """A task's own part of a store of windows; made from `window_store(...)`.

    Values lie in the order of their window's start, then of their key. The store never
    drops anything by itself: a windowed aggregation drops its closed windows.

    A start identifies a window of a key. Ends of the keys that are read come from the
    definition's `windows`. Times are ms since the epoch.

    Source: `org.apache.kafka.streams.state.TimestampedWindowStore`; ranges end before
    their end, and there are no segments.
    """

    def __init__(
        self,
        spec: StoreSpec[WindowStore[K, V]],
        overlay: Overlay,
        *,
        windows: WindowEnds | None = None,
    ) -> None:
        rows: WindowRows[K, V] = WindowRows(spec.name, spec.key, spec.value, overlay)
        super().__init__(rows)
        self._overlay = rows.overlay
        self._windows = windows

    def get(self, key: Windowed[K]) -> V | None:
        """Return the value of a window, or None if it has none."""
        found = self._overlay.get(self._handle(key))
        return None if found is None else found[0]

    def put(self, key: Windowed[K], value: V | None, timestamp_ms: int | None = None) -> None:
        """Set a window's value; None deletes the window.

        Args:
            key: Key and window.
            value: The value.
            timestamp_ms: The value's timestamp; by default the window's start.

        Raises:
            SerializationError: The window's end differs from the end in the definition's `windows`.
        """
        stamp = key.start_ms if timestamp_ms is None else timestamp_ms
        self._overlay.put(self._handle(key), None if value is None else (value, stamp))

    def delete(self, key: Windowed[K]) -> V | None:
        """Delete a window; return the value it had, or None."""
        found = self.get(key)
        if found is not None:
            self.put(key, None)
        return found

    def fetch(
        self,
        key: K,
        from_ms: int | None = None,
        to_ms: int | None = None,
        *,
        reverse: bool = False,
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Yield the windows of a key with `from <= start < to`, by start; backward if asked.

        Costs up to two seeks for each start that any key has in the range.
        """
        return self._pairs(self._rows.scan_key(key, from_ms, to_ms, reverse=reverse))

    def fetch_all(
        self, from_ms: int | None = None, to_ms: int | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Yield all windows with `from <= start < to`, by start, then by key."""
        return self._pairs(self._rows.scan(from_ms, to_ms, reverse=reverse))

    def fetch_range(
        self,
        start: K | None = None,
        end: K | None = None,
        from_ms: int | None = None,
        to_ms: int | None = None,
        *,
        reverse: bool = False,
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Yield the rows of `fetch_all` with `start <= key < end`; None is unbounded.

        Costs up to two seeks for each start that any key has in the range of times.
        """
        return self._pairs(self._rows.scan_keys(start, end, from_ms, to_ms, reverse=reverse))

    def approximate_count(self) -> int:
        """Return about how many windows there are."""
        return self._rows.approximate_count()

    def _handle(self, key: Windowed[K]) -> tuple[int, K]:
        windows, start = self._windows, key.start_ms
        if windows is not None and windows.end(start) != key.end_ms:
            raise SerializationError(f"{key} is no window of {windows}")
        return start, key.key

    def _pairs(self, rows: Iterable[Row[K, V]]) -> Iterator[tuple[Windowed[K], V]]:
        windows = self._windows
        for (start, key), (value, _) in rows:
            end = NEVER_ENDS if windows is None else windows.end(start)
            yield Windowed(key, start, end), value
