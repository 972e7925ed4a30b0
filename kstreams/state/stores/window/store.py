"""The window store: one value per key and window."""

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
    """A window definition that has the ends of windows, such as all `TimeWindows`."""

    def end(self, start_ms: int) -> int:
        """Return the end (ms) of the window with this start (ms)."""
        ...


class WindowStore(StateStore[WindowRows[K, V]], Generic[K, V]):
    """One partition of a window store, which `window_store(...)` defines.

    Values are in the order of window starts, then of keys. The store has no retention: a windowed
    aggregation deletes its closed windows. A start identifies a window of a key; the ends of the
    returned windows follow from the definition's `windows`. Times are ms since the Unix epoch.

    Source: `org.apache.kafka.streams.state.TimestampedWindowStore`; ends of ranges are exclusive,
    and there are no segments.
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
            key: The key and its window.
            value: The value.
            timestamp_ms: The value's timestamp; by default the window's start.

        Raises:
            SerializationError: The window's end differs from the end in the definition's `windows`.
        """
        stamp = key.start_ms if timestamp_ms is None else timestamp_ms
        self._overlay.put(self._handle(key), None if value is None else (value, stamp))

    def delete(self, key: Windowed[K]) -> V | None:
        """Delete a window; return its previous value, or None."""
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
        """Yield a key's windows with `from_ms <= start < to_ms`, by start, or in reverse.

        Costs up to two seeks for each start that any key has in the range.
        """
        return self._pairs(self._rows.scan_key(key, from_ms, to_ms, reverse=reverse))

    def fetch_all(
        self, from_ms: int | None = None, to_ms: int | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Yield all windows with `from_ms <= start < to_ms`, by start, then by key."""
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
        """Return the approximate number of windows."""
        return self._rows.approximate_count()

    def _handle(self, key: Windowed[K]) -> tuple[int, K]:
        windows, start = self._windows, key.start_ms
        if windows is not None and windows.end(start) != key.end_ms:
            raise SerializationError(
                f"{key} is not a window of {windows}: one that starts at {start} ms ends at "
                f"{windows.end(start)} ms"
            )
        return start, key.key

    def _pairs(self, rows: Iterable[Row[K, V]]) -> Iterator[tuple[Windowed[K], V]]:
        windows = self._windows
        for (start, key), (value, _) in rows:
            end = NEVER_ENDS if windows is None else windows.end(start)
            yield Windowed(key, start, end), value
