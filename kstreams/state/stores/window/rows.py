"""The rows of a window store: one value and timestamp per window start and key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic

import pyarrow as pa
import pyarrow.compute as pc
from typing_extensions import override

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.serde.binary import has_all, int64_column, sortable_column
from kstreams.serde.composite import CompositeSerde, read_int64, sortable_int64
from kstreams.serde.stamped import StampedSerde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.state_store import StoreRows

__all__ = ("Row", "WindowKeySerde", "WindowRows")


Row = tuple[tuple[int, K], tuple[V, int]]
"""The start (ms) and key of a window, and the window's value and timestamp (ms)."""


class WindowRows(StoreRows, Generic[K, V]):
    """The rows of a window store, in the order of window starts, then of keys.

    Closed windows are one range at the beginning, which the windowed aggregation reads and deletes
    without an index. A lookup of a key's windows seeks from each window start to the next start. A
    start identifies a window; rows do not contain window ends.

    Args:
        name: The store's name.
        key: Serde of the keys.
        value: Serde of the values.
        overlay: The write-back caches of the task's stores.

    Attributes:
        overlay: The store's write-back cache.
        key: Serde of the keys, whose bytes sort like the keys.
        value: The serde of values with their timestamps.
    """

    def __init__(self, name: str, key: Serde[K], value: Serde[V], overlay: Overlay) -> None:
        self.key = key.ordered
        self.value = StampedSerde(value)
        self.overlay = overlay.store(name, WindowKeySerde(key), self.value)

    def reader(self) -> Callable[[tuple[int, K]], tuple[V, int] | None]:
        """Return a function that returns value and timestamp of `(start_ms, key)`, or None.

        The function does not read the backend for windows that start later than all windows that
        exist at this call: it finds such windows only in the puts of the batch.
        """
        found = next(self.overlay.scan(None, None, reverse=True), None)
        return self.overlay.reader(None if found is None else (found[0][0] + 1,))

    def writer(self) -> Callable[[tuple[int, K], tuple[V, int] | None], None]:
        """Return a function that sets value and timestamp of `(start_ms, key)`; None deletes it."""
        return self.overlay.put

    def scan(
        self, from_ms: int | None = None, to_ms: int | None = None, *, reverse: bool = False
    ) -> Iterator[Row[K, V]]:
        """Yield the rows of windows with `from_ms <= start < to_ms`, by start, then by key.

        The scan is lazy; the caller may delete yielded rows during the scan.
        """
        low, high = _bound(from_ms), _bound(to_ms)  # RocksDB reads them while the scan lasts
        yield from self.overlay.scan(low, high, reverse=reverse)

    def scan_keys(
        self,
        start: K | None,
        end: K | None,
        from_ms: int | None,
        to_ms: int | None,
        *,
        reverse: bool,
    ) -> Iterator[Row[K, V]]:
        """Yield the rows of `scan` with `start <= key < end`; None is unbounded.

        Costs up to two seeks for each start that any key has in the range of times.
        """
        low = b"" if start is None else self.key.serialize(start)
        high = None if end is None else self.key.serialize(end)
        begin, stop = _bound(from_ms), _bound(to_ms)
        while True:
            for row in self.overlay.scan(begin, stop, reverse=reverse):
                time, key = row[0]
                here, head = self.key.serialize(key), sortable_int64(time)
                if low <= here and (high is None or here < high):
                    yield row
                    continue
                if reverse:
                    stop = head if high is None or here < low else head + high
                else:
                    begin = head + low if here < low else sortable_int64(time + 1) + low
                break
            else:
                return

    def scan_key(
        self, key: K, from_ms: int | None, to_ms: int | None, *, reverse: bool
    ) -> Iterator[Row[K, V]]:
        """Yield the rows of a key's windows with `from_ms <= start < to_ms`, by start.

        Costs up to two seeks for each start that any key has in the range.
        """
        leap = self._leap_back if reverse else self._leap
        return leap(self.key.serialize(key), from_ms, to_ms)

    def first_start(self, from_ms: int | None = None) -> int | None:
        """Return the start of the first window with `from_ms <= start`, ms, or None."""
        found = self.overlay.merged.first(_bound(from_ms), None)
        return None if found is None else read_int64(found)

    def last_start(self) -> int | None:
        """Return the start of the last window, ms, or None without windows."""
        found = next(self.overlay.scan(None, None, reverse=True), None)
        return None if found is None else int(found[0][0])

    def drop_before(self, start_ms: int, *, from_ms: int | None = None) -> None:
        """Delete windows with `from_ms <= start < start_ms` as one range, without reading them."""
        self.overlay.delete_range(_bound(from_ms) or b"", sortable_int64(start_ms))

    def approximate_count(self) -> int:
        """Return the approximate number of rows."""
        return self.overlay.count()

    def _leap(self, key: bytes, low: int | None, high: int | None) -> Iterator[Row[K, V]]:
        """Yield the rows of an encoded key: at each window start, skip all other keys by a seek.

        The window starts are in `low <= start < high`, ms; None is unbounded.
        """
        place = b"" if low is None else sortable_int64(low) + key
        end = _bound(high)
        while True:
            found = next(self.overlay.scan(place, end), None)
            if found is None:
                return
            start, other = found[0]
            here, wanted = self.key.serialize(other), sortable_int64(start) + key
            if here == key:
                yield found
            # A smaller key here: the wanted one may follow at the same start.
            place = wanted if here < key else sortable_int64(start + 1) + key

    def _leap_back(self, key: bytes, low: int | None, high: int | None) -> Iterator[Row[K, V]]:
        begin, end = _bound(low), _bound(high)
        while True:
            found = next(self.overlay.scan(begin, end, reverse=True), None)
            if found is None:
                return
            start, other = found[0]
            here, wanted = self.key.serialize(other), sortable_int64(start) + key
            if here == key:
                yield found
            # A greater key here: the wanted one may come before it at the same start.
            end = wanted + b"\x00" if here > key else sortable_int64(start)


def _bound(start_ms: int | None) -> bytes | None:
    return None if start_ms is None else sortable_int64(start_ms)


class WindowKeySerde(CompositeSerde["tuple[int, Any]"]):
    """The serde of row keys, `(start_ms, key)`: 8 bytes that sort like starts, then the key."""

    type_token = tuple

    def __init__(self, key: Serde[Any]) -> None:
        super().__init__("window-key", key)
        self._key = key.ordered

    @override
    def serialize(self, value: tuple[int, Any]) -> bytes:
        return sortable_int64(value[0]) + self._key.serialize(value[1])

    @override
    def serialize_many(self, values: Sequence[tuple[int, Any] | None]) -> pa.Array:
        starts = int64_column([0 if value is None else value[0] for value in values])
        if starts is None:
            return super().serialize_many(values)
        keys = self._key.serialize_many([None if v is None else v[1] for v in values])
        if not has_all(keys, values):
            return super().serialize_many(values)
        return pc.binary_join_element_wise(sortable_column(starts), keys, b"")

    @override
    def deserialize(self, data: bytes) -> tuple[int, Any]:
        return read_int64(data), self._key.deserialize(data[8:])
