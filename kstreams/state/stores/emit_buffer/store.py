"""The read-only emit buffer of `every`: results before the end of their interval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic

from kstreams._types import K, V
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.buffered import BufferedResult
from kstreams.state.stores.emit_buffer.rows import EmitBufferRows
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.state_store import StateStore
from kstreams.windowed import Windowed

__all__ = ("EmitBufferStore",)


class EmitBufferStore(StateStore[EmitBufferRows[K, V]], Generic[K, V]):
    """One partition of the results that `every(interval)` buffers.

    The aggregation defines the store, as the last of its `stores`, and is its only writer.
    """

    def __init__(self, spec: StoreSpec[EmitBufferStore[K, V]], overlay: Overlay) -> None:
        super().__init__(EmitBufferRows(spec.name, spec.key, spec.value, overlay))

    def fetch(
        self, key: K, *, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], BufferedResult[V]]]:
        """Yield the windows of a key with buffered results; scans the whole store."""
        encode = self._rows.key.serialize
        place = encode(key)
        for window, result in self.fetch_all(reverse=reverse):
            if encode(window.key) == place:
                yield window, result

    def fetch_all(
        self, *, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], BufferedResult[V]]]:
        """Yield all windows with buffered results, in the order of forwarding."""
        for (due, start, end, key), state in self._rows.scan(reverse=reverse):
            yield Windowed(key, start, end), BufferedResult(state.value, state.time_ms, due)
