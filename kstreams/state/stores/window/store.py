"""The window store: a value and a time for each key and window start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic

import pyarrow as pa
import pyarrow.compute as pc

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.serde.binary import has_all, int64_column, sortable_column
from kstreams.serde.composite import CompositeSerde, read_int64, sortable_int64
from kstreams.serde.stamped import StampedSerde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.window.columns import WindowColumns

__all__ = ("WindowStore",)


class WindowKeySerde(CompositeSerde["tuple[int, K]"]):
    """Window start and key: 8 bytes that sort as the starts do, then the key's ordered bytes."""

    type_token = tuple

    def __init__(self, key: Serde[K]) -> None:
        super().__init__("window-key", key)
        self._key = key.ordered

    def serialize(self, value: tuple[int, K]) -> bytes:
        """Convert."""
        return sortable_int64(value[0]) + self._key.serialize(value[1])

    def serialize_many(self, values: Sequence[tuple[int, K] | None]) -> pa.Array:
        """Convert in one step; falls back to single steps to name what fails."""
        starts = int64_column([0 if value is None else value[0] for value in values])
        if starts is None:
            return super().serialize_many(values)
        keys = self._key.serialize_many([None if v is None else v[1] for v in values])
        if not has_all(keys, values):
            return super().serialize_many(values)
        return pc.binary_join_element_wise(sortable_column(starts), keys, b"")

    def deserialize(self, data: bytes) -> tuple[int, K]:
        """Convert back."""
        return read_int64(data), self._key.deserialize(data[8:])


class WindowStore(Generic[K, V]):
    """A task's own part of a store of windows; made from `window_store(...)`.

    Entries lie in the order of their window's start, then of their key: what has closed
    is one range at the front, which its owner reads and deletes without an index, and a
    key's windows are found by leaping from start to start. The store never drops anything
    by itself: retention is its owner's, by stream time.

    A start identifies a window; the store knows no ends. Times are ms since the epoch.
    Each value has a timestamp with it, the start if none is given.

    Source: `org.apache.kafka.streams.state.TimestampedWindowStore`; ranges end before
    their end, and there are no segments.
    """

    def __init__(self, spec: StoreSpec[WindowStore[K, V]], overlay: Overlay) -> None:
        self._key = spec.key.ordered
        self._stamped = StampedSerde(spec.value)
        self._overlay = overlay.store(spec.name, WindowKeySerde(spec.key), self._stamped)

    def get(self, key: K, start_ms: int) -> V | None:
        """Return the value of a key's window, or None."""
        found = self._overlay.get((start_ms, key))
        return None if found is None else found[0]

    def get_stamped(self, key: K, start_ms: int) -> tuple[V, int] | None:
        """Return value and timestamp of a key's window, or None."""
        return self._overlay.get((start_ms, key))  # type: ignore[no-any-return]  # the spec's types

    def reader(self) -> Callable[[tuple[int, K]], tuple[V, int] | None]:
        """Return what `get_stamped` does, for `(start_ms, key)`, at the price of a look-up.

        Windows that start later than any there is now are only looked for among those
        that are put from now on: the backend is not asked.
        """
        found = next(self._overlay.scan(None, None, reverse=True), None)
        return self._overlay.reader(None if found is None else (found[0][0] + 1,))

    def writer(self) -> Callable[[tuple[int, K], tuple[V, int] | None], None]:
        """Return what sets value and timestamp of `(start_ms, key)`; None deletes."""
        return self._overlay.put

    def put(
        self, key: K, start_ms: int, value: V | None, *, timestamp_ms: int | None = None
    ) -> None:
        """Set a window's value and its timestamp; None deletes the window."""
        stamp = start_ms if timestamp_ms is None else timestamp_ms
        self._overlay.put((start_ms, key), None if value is None else (value, stamp))

    def fetch(
        self,
        key: K,
        from_ms: int | None = None,
        to_ms: int | None = None,
        *,
        reverse: bool = False,
    ) -> Iterator[tuple[int, V]]:
        """Yield start and value of a key's windows with `from <= start < to`, in order.

        Costs up to two seeks for each start that any key has in the range.
        """
        data = self._key.serialize(key)
        leap = self._leap_back if reverse else self._leap
        return leap(data, from_ms, to_ms)

    def fetch_all(
        self, from_ms: int | None = None, to_ms: int | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[tuple[K, int], V]]:
        """Yield `((key, start), value)` of all windows with `from <= start < to`.

        In the order of starts, then of keys; backward if asked.
        """
        for start, key, value, _ in self.scan(from_ms, to_ms, reverse=reverse):
            yield (key, start), value

    def fetch_range(
        self,
        start: K | None,
        end: K | None,
        from_ms: int | None = None,
        to_ms: int | None = None,
        *,
        reverse: bool = False,
    ) -> Iterator[tuple[tuple[K, int], V]]:
        """Yield what `fetch_all` yields of keys with `start <= key < end`; None leaves a side open.

        Costs up to two seeks for each start that any key has in the range of times.
        """
        low = b"" if start is None else self._key.serialize(start)
        high = None if end is None else self._key.serialize(end)
        begin, stop = _bound(from_ms), _bound(to_ms)
        while True:
            for (time, key), (value, _) in self._overlay.scan(begin, stop, reverse=reverse):
                here, head = self._key.serialize(key), sortable_int64(time)
                if low <= here and (high is None or here < high):
                    yield (key, time), value
                    continue
                if reverse:
                    stop = head if high is None or here < low else head + high
                else:
                    begin = head + low if here < low else sortable_int64(time + 1) + low
                break
            else:
                return

    def scan(
        self, from_ms: int | None = None, to_ms: int | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[int, K, V, int]]:
        """Yield `(start, key, value, timestamp)` of windows with `from <= start < to`.

        Lazy; deleting what was yielded is safe.
        """
        low, high = _bound(from_ms), _bound(to_ms)  # RocksDB reads them while the scan lasts
        pairs = self._overlay.scan(low, high, reverse=reverse)
        for (start, key), (value, timestamp) in pairs:
            yield start, key, value, timestamp

    def first_start(self, from_ms: int | None = None) -> int | None:
        """Return the first start of a window with `from <= start`, ms, or None."""
        found = self._overlay.first(_bound(from_ms), None)
        return None if found is None else read_int64(found)

    def drop_before(self, start_ms: int, *, from_ms: int | None = None) -> None:
        """Delete windows with `from <= start < start_ms` as one range, without reading them."""
        self._overlay.delete_range(_bound(from_ms) or b"", sortable_int64(start_ms))

    def columns(self) -> WindowColumns:
        """Return the same windows as columns; only for values of fixed width."""
        return WindowColumns(self._overlay, self._key, self._stamped)

    def approximate_count(self) -> int:
        """Return about how many windows there are."""
        return self._overlay.count()

    def _leap(self, key: bytes, low: int | None, high: int | None) -> Iterator[tuple[int, V]]:
        """Go from start to start: seek the key at each, not caring for other keys."""
        place = b"" if low is None else sortable_int64(low) + key
        end = _bound(high)
        while True:
            found = next(self._overlay.scan(place, end), None)
            if found is None:
                return
            (start, other), (value, _) = found
            here, wanted = self._key.serialize(other), sortable_int64(start) + key
            if here == key:
                yield start, value
            # A smaller key here: the wanted one may follow at the same start.
            place = wanted if here < key else sortable_int64(start + 1) + key

    def _leap_back(self, key: bytes, low: int | None, high: int | None) -> Iterator[tuple[int, V]]:
        begin, end = _bound(low), _bound(high)
        while True:
            found = next(self._overlay.scan(begin, end, reverse=True), None)
            if found is None:
                return
            (start, other), (value, _) = found
            here, wanted = self._key.serialize(other), sortable_int64(start) + key
            if here == key:
                yield start, value
            # A greater key here: the wanted one may come before it at the same start.
            end = wanted + b"\x00" if here > key else sortable_int64(start)


def _bound(start_ms: int | None) -> bytes | None:
    return None if start_ms is None else sortable_int64(start_ms)
