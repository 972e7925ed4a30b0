"""Hold updates back, and forward the last one of each key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from kstreams._types import K, V
from kstreams.processors.closure import ClosureProcessor
from kstreams.processors.supplier import StoreSupplier
from kstreams.state.stores.buffer.kind import BUFFER
from kstreams.state.stores.buffer.store import BufferStore
from kstreams.state.stores.kind import check_kind
from kstreams.state.stores.spec import StoreSpec
from kstreams.windowed import Windowed
from kstreams.windows.records.suppress import SuppressProcessor
from kstreams.windows.suppression import UntilTimeLimit, UntilWindowCloses

__all__ = ("suppress",)

VIn = TypeVar("VIn", contravariant=True)
"""Type of the values that come in."""
VOut = TypeVar("VOut", covariant=True)
"""Type of the values that are forwarded."""


@dataclass(frozen=True)
class _SuppressSupplier(Generic[K, VIn, VOut]):
    """Makes the processors of `suppress`, and brings their store."""

    until: UntilWindowCloses | UntilTimeLimit
    store: StoreSpec[Any]

    def __call__(self) -> ClosureProcessor[K, VIn, K, VOut]:
        """Return a new processor."""
        return SuppressProcessor(self.until, self.store)

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the store."""
        return (self.store,)


@overload
def suppress(
    until: UntilWindowCloses, *, store: StoreSpec[BufferStore[Windowed[K], V]]
) -> StoreSupplier[Windowed[K], V | None, Windowed[K], V]: ...
@overload
def suppress(
    until: UntilTimeLimit, *, store: StoreSpec[BufferStore[K, V]]
) -> StoreSupplier[K, V, K, V]: ...
def suppress(
    until: UntilWindowCloses | UntilTimeLimit, *, store: StoreSpec[Any]
) -> StoreSupplier[Any, Any, Any, Any]:
    """Hold a stream of updates back, and forward the last one of each key.

    Args:
        until: `until_window_closes(windows)` or `until_time_limit(...)`.
        store: Definition of the store for what is held back: a `buffer_store`; one that
            is `nullable` to hold tombstones back until a time limit, and release them.

    Raises:
        TopologyError: The store is of another kind.

    Source: `org.apache.kafka.streams.kstream.KTable#suppress`.
    """
    check_kind(store, BUFFER, "suppress needs")
    return _SuppressSupplier(until, store)
