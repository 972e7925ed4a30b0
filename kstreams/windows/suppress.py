"""Buffer updates, and forward the last one of each key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Generic, TypeVar, overload

from kstreams._types import K, V
from kstreams.options import checks_options
from kstreams.parameters import Parameters, parameters_of
from kstreams.processors.closure import ClosureProcessor
from kstreams.processors.emission import AtMostEvery, Emission, Every, OncePerBatch, OnClose
from kstreams.processors.supplier import OneStoreSupplier, StoreParameters, StoreSupplier
from kstreams.state.stores.buffer.kind import BUFFER
from kstreams.state.stores.buffer.store import BufferStore
from kstreams.state.stores.kind import check_kind
from kstreams.state.stores.spec import StoreSpec
from kstreams.windowed import Windowed
from kstreams.windows.engine import never_closes
from kstreams.windows.records.suppress import SuppressProcessor
from kstreams.windows.suppression import UntilTimeLimit, UntilWindowCloses

__all__ = ("suppress",)

VIn = TypeVar("VIn", contravariant=True)
"""Type of the input values."""
VOut = TypeVar("VOut", covariant=True)
"""Type of the forwarded values."""


@dataclass(frozen=True)
class _SuppressSupplier(OneStoreSupplier, Generic[K, VIn, VOut]):
    """Creates the processors of `suppress`, and declares their store.

    Args:
        until: The release condition.
        store: Definition of the buffer.
        emissions: The emission of each upstream windowed aggregation, by node.
    """

    until: UntilWindowCloses | UntilTimeLimit
    store: StoreSpec[Any]
    emissions: Mapping[str, Emission] = field(default_factory=dict)

    def __call__(self) -> ClosureProcessor[K, VIn, K, VOut]:
        """Return a new processor."""
        once = self._by_window and any(
            isinstance(emission, OncePerBatch) for emission in self.emissions.values()
        )
        return SuppressProcessor(self.until, self.store, at_batch_end=once)

    def below_windows(self, emissions: Mapping[str, Emission]) -> _SuppressSupplier[K, VIn, VOut]:
        """Return a copy of this supplier for a node downstream of windowed aggregations."""
        return replace(self, emissions=dict(emissions))

    def problems(self) -> tuple[str, ...]:
        """Return a problem for each upstream node that forwards results after windows close."""
        return tuple(
            f"suppress(until_window_closes(...)) releases the last result of a window when it "
            f"closes, and node {node!r} forwards this result later, by {_name(emission)}: forward "
            "each update to suppress, or emit on_close() without suppress"
            for node, emission in self.emissions.items()
            if self._by_window and isinstance(emission, (Every, AtMostEvery))
        )

    @property
    def needs_end_of_run(self) -> bool:
        """Return whether no record is released before the end of a run."""
        until = self.until
        if isinstance(until, UntilWindowCloses):
            return never_closes(until.windows)
        return until.never_releases

    @property
    def delayed_emission(self) -> Emission | None:
        """Return when buffered records are forwarded; None if the time limit is 0."""
        until = self.until
        if isinstance(until, UntilWindowCloses):
            return OnClose()
        limit = timedelta(milliseconds=until.limit_ms)
        return AtMostEvery(limit, until.limit_ms) if until.limit_ms else None

    @property
    def _by_window(self) -> bool:
        return isinstance(self.until, UntilWindowCloses)

    @property
    def valued_stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the store of the buffer, whose values are the values of the records."""
        return self.stores

    @property
    def store_parameters(self) -> StoreParameters:
        """Return the release condition, on which the order of the buffer's rows depends."""
        until = self.until
        own: Parameters
        if isinstance(until, UntilWindowCloses):
            own = {"suppress.until": "window closes", **parameters_of("windows", until.windows)}
        else:
            own = {"suppress.until": "time limit", "suppress.limit_ms": until.limit_ms}
        return {self.store.name: own}


def _name(emission: Every | AtMostEvery) -> str:
    return f"{'every' if isinstance(emission, Every) else 'at_most_every'}({emission.interval})"


@overload
def suppress(
    until: UntilWindowCloses, *, store: StoreSpec[BufferStore[Windowed[K], V]]
) -> StoreSupplier[Windowed[K], V | None, Windowed[K], V]: ...
@overload
def suppress(
    until: UntilTimeLimit, *, store: StoreSpec[BufferStore[K, V]]
) -> StoreSupplier[K, V, K, V]: ...
@checks_options
def suppress(
    until: UntilWindowCloses | UntilTimeLimit, *, store: StoreSpec[Any]
) -> StoreSupplier[Any, Any, Any, Any]:
    """Buffer a stream of updates, and forward the last one of each key.

    Due records are released after each record that enters the buffer, before its bounds are
    checked, and whenever stream time advances (with `idle_timeout`, also while the topic has no new
    records). Below an aggregation that emits `once_per_batch()`, windows are released at the end of
    the batch that closes them.

    Args:
        until: `until_window_closes(windows)` or `until_time_limit(...)`.
        store: Definition of the buffer, a `buffer_store`; with a time limit, a `nullable` store
            also buffers tombstones.

    Raises:
        TopologyError: The store is not a `buffer_store`. Also raised by `build()` if
            `until_window_closes` is below an aggregation that emits `every` or `at_most_every`, and
            so after the window has closed.

    Source: `org.apache.kafka.streams.kstream.KTable#suppress`.
    """
    check_kind(store, BUFFER, "suppress needs")
    return _SuppressSupplier(until, store)
