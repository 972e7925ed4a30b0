"""The read-only store of `at_most_every`: results until their key may be forwarded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic

from kstreams._types import K, V
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.buffered import BufferedResult
from kstreams.state.stores.rate_limit.rows import RateLimitRows, Windows
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.state_store import StateStore
from kstreams.windowed import Windowed

__all__ = ("RateLimitStore",)


class RateLimitStore(StateStore[RateLimitRows[K, V]], Generic[K, V]):
    """One partition of the results that `at_most_every(interval)` buffers.

    The aggregation defines the store, as the last of its `stores`, and is its only writer.
    """

    def __init__(self, spec: StoreSpec[RateLimitStore[K, V]], overlay: Overlay) -> None:
        super().__init__(RateLimitRows(spec.name, spec.key, spec.value, overlay))

    def fetch(
        self, key: K, *, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], BufferedResult[V]]]:
        """Yield the windows of a key with buffered results, by window."""
        found = self._rows.get(key)
        if found is not None:
            yield from _pairs(key, found, reverse=reverse)

    def fetch_all(
        self, *, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], BufferedResult[V]]]:
        """Yield all windows with buffered results, by key, then by window."""
        for key, row in self._rows.scan(reverse=reverse):
            yield from _pairs(key, row, reverse=reverse)


def _pairs(
    key: K, row: tuple[int, Windows[V]], *, reverse: bool
) -> Iterator[tuple[Windowed[K], BufferedResult[V]]]:
    due_ms, windows = row
    for start, end, state in reversed(windows) if reverse else windows:
        yield Windowed(key, start, end), BufferedResult(state.value, state.time_ms, due_ms)
