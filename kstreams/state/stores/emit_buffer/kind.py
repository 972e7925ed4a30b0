"""The kind of emit buffers, which `every` uses, and the function that defines such a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import override

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.buffered import BufferedKind, BufferedResult
from kstreams.state.stores.changelog_form import ChangelogForm
from kstreams.state.stores.emit_buffer.changelog import EmitBufferForm
from kstreams.state.stores.emit_buffer.store import EmitBufferStore
from kstreams.state.stores.spec import StoreSpec
from kstreams.windowed import Windowed

__all__ = ("EMIT_BUFFER", "EmitBufferKind", "emit_buffer_store")


_Live = EmitBufferStore[Any, Any]
_Row = tuple[Windowed[Any], BufferedResult[Any]]
"""A window and its buffered result."""


@dataclass(frozen=True)
class EmitBufferKind(BufferedKind[_Live]):
    """The kind of stores with buffered results, ordered by the time when results are due."""

    divides_rows: ClassVar[bool] = True

    @override
    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        return EmitBufferStore(spec, overlay)

    @override
    def key_of_row(self, row: bytes) -> bytes | None:
        return row[24:]

    @override
    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        return EmitBufferForm(spec)

    @override
    def order(self, spec: StoreSpec[_Live]) -> Callable[[_Row], tuple[Any, ...]]:
        """Return a function that returns due time, window and key of a row."""
        data = spec.key.ordered.serialize
        return lambda row: (row[1].due_ms, row[0].start_ms, row[0].end_ms, data(row[0].key))


EMIT_BUFFER = EmitBufferKind("pending")


def emit_buffer_store(
    name: str, *, key: Serde[K], value: Serde[V]
) -> StoreSpec[EmitBufferStore[K, V]]:
    """Define the store in which `every` buffers results.

    Args:
        name: The store's name: unique in the topology, and recorded with the state.
        key: Serde of the keys.
        value: The serde of the aggregator's states: the aggregator's `state`.
    """
    return StoreSpec(name, EMIT_BUFFER, key, value)
