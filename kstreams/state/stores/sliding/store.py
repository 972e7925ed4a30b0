"""The read-only sliding store: the slices that a key's sliding windows consist of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic

from kstreams._types import K, V
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.sliding.rows import Slice, SlidingRows
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.state_store import StateStore
from kstreams.windowed import Windowed

__all__ = ("SlidingStore",)


class SlidingStore(StateStore[SlidingRows[K, V]], Generic[K, V]):
    """One partition of a store of slices, which `sliding_store(...)` defines.

    A slice is the aggregate of all records of a key with exactly the same timestamp, which is
    both start and end of the slice's windowed key. The windows of the aggregation consist of
    slices and share them. Only the aggregation writes to the store.

    Source: departs from Kafka Streams, which keeps the windows in a `WindowStore`.
    """

    def __init__(self, spec: StoreSpec[SlidingStore[K, V]], overlay: Overlay) -> None:
        super().__init__(SlidingRows(spec.name, spec.key, spec.value, overlay))

    def fetch(
        self,
        key: K,
        from_ms: int | None = None,
        to_ms: int | None = None,
        *,
        reverse: bool = False,
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Yield a key's slices with `from_ms <= time < to_ms`, by time, or in reverse."""
        for window, value in _pairs(key, self._rows.slices(key), reverse=reverse):
            time = window.start_ms
            if (from_ms is None or time >= from_ms) and (to_ms is None or time < to_ms):
                yield window, value

    def fetch_all(self, *, reverse: bool = False) -> Iterator[tuple[Windowed[K], V]]:
        """Yield all slices, by key, then by time; `reverse` reverses the order."""
        for key, slices in self._rows.scan(reverse=reverse):
            yield from _pairs(key, slices, reverse=reverse)


def _pairs(
    key: K, slices: tuple[Slice[V], ...], *, reverse: bool
) -> Iterator[tuple[Windowed[K], V]]:
    for time, value in reversed(slices) if reverse else slices:
        yield Windowed(key, time, time), value
