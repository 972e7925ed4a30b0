"""The kind of emit buffers, of `every`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.buffered import BUFFERED_COLUMNS, BufferedResult, flat_result
from kstreams.state.stores.changelog_form import ChangelogForm
from kstreams.state.stores.emit_buffer.changelog import EmitBufferForm
from kstreams.state.stores.emit_buffer.store import EmitBufferStore
from kstreams.state.stores.kind import StoreKind, Times, is_within
from kstreams.state.stores.spec import StoreSpec
from kstreams.windowed import Windowed

__all__ = ("EMIT_BUFFER", "EmitBufferKind", "emit_buffer_store")


_Live = EmitBufferStore[Any, Any]
_Row = tuple[Windowed[Any], BufferedResult[Any]]
"""A window, and the result that is held back."""


@dataclass(frozen=True)
class EmitBufferKind(StoreKind[_Live]):
    """Results that are held back, by the time when they are due."""

    columns: ClassVar[tuple[str, ...]] = BUFFERED_COLUMNS

    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        """Return the live store."""
        return EmitBufferStore(spec, overlay)

    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        """Return a record for each result."""
        return EmitBufferForm(spec)

    def scan(self, store: _Live, start: object, end: object, *, reverse: bool) -> Iterator[_Row]:
        """Yield all results."""
        rows = store.fetch_all(reverse=reverse)
        return (row for row in rows if is_within(row[0].key, start, end))

    def order(self, spec: StoreSpec[_Live]) -> Callable[[_Row], tuple[Any, ...]]:
        """Return due time, window and key."""
        data = spec.key.ordered.serialize
        return lambda row: (row[1].due_ms, row[0].start_ms, row[0].end_ms, data(row[0].key))

    def flat(self, row: _Row) -> Iterator[tuple[Any, ...]]:
        """Yield the row as one."""
        yield flat_result(*row)

    def flat_of_key(self, store: _Live, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        """Yield a key's results."""
        return (flat_result(*row)[1:] for row in store.fetch(key))


EMIT_BUFFER = EmitBufferKind("pending")


def emit_buffer_store(
    name: str, *, key: Serde[K], value: Serde[V]
) -> StoreSpec[EmitBufferStore[K, V]]:
    """Define the emit buffer of `every`.

    Args:
        name: Unique in the topology; recorded with the state.
        key: Serde of the keys.
        value: Serde of the states that results are made of: the aggregator's `state`.
    """
    return StoreSpec(name, EMIT_BUFFER, key, value)
