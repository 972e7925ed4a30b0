"""`WindowedStream`: aggregations by key and window, with their late records."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from kstreams._types import K, S, V
from kstreams.aggregators.aggregator import Aggregator
from kstreams.graph.nodes import Node
from kstreams.processors.columns import Execution
from kstreams.processors.emission import EachUpdate, Emission, OnClose
from kstreams.serde.base import Serde
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.session.store import SessionStore
from kstreams.state.stores.sliding.kind import sliding_store
from kstreams.state.stores.sliding.store import SlidingStore
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.window.kind import window_store
from kstreams.state.stores.window.store import WindowStore
from kstreams.stored_names import dashed
from kstreams.streams.aggregations import Aggregation
from kstreams.streams.checks import without_emit
from kstreams.streams.facts import Facts, wrapped_type
from kstreams.streams.serdes import KnownSerde, Unknown
from kstreams.streams.stream import Stream
from kstreams.streams.stream_base import StreamBase
from kstreams.windowed import Windowed
from kstreams.windows.aggregate import windowed_aggregate
from kstreams.windows.contract import TimeWindows, windows_name
from kstreams.windows.engine import windowed
from kstreams.windows.kinds.session import SessionWindows
from kstreams.windows.kinds.sliding import SlidingWindows
from kstreams.windows.late import Late
from kstreams.windows.split_late import split_late

if TYPE_CHECKING:
    from kstreams.streams.grouped import GroupedStream

__all__ = ("WindowResults", "WindowedStream")

A = TypeVar("A")
"""The type of the results."""
N = TypeVar("N")
"""`None` if the table deletes results, such as those of sessions that are merged; else `Never`."""
_Spans = (
    StoreSpec[WindowStore[K, V]] | StoreSpec[SlidingStore[K, V]] | StoreSpec[SessionStore[K, V]]
)
_PLACE_OF_EMIT = "windowed_by(windows, emit=...)"
_Kind = TimeWindows | SlidingWindows | SessionWindows


class WindowedStream(Generic[K, V, N]):
    """Records by key and window, for an aggregation with one result per key and window.

    `store=` is the definition of the store, or only its name.

    Source: `org.apache.kafka.streams.kstream.TimeWindowedKStream`, `SessionWindowedKStream`.
    """

    def __init__(
        self, grouped: GroupedStream[K, V], kind: _Kind, emit: Emission, execution: Execution
    ) -> None:
        self._grouped = grouped
        self._kind = kind
        self._options: dict[str, Any] = {"emit": emit, "execution": execution}

    @without_emit(_PLACE_OF_EMIT)
    def count(self, *, store: _Spans[K, int] | str | None = None) -> WindowResults[K, V, int | N]:
        """Count the records of each key and window; see `TimeWindowedKStream#count`."""
        return self._results(self._grouped._counting(), store)

    @without_emit(_PLACE_OF_EMIT)
    def reduce(
        self,
        function: Callable[[V, V], V],
        *,
        value: Serde[V] | None = None,
        store: _Spans[K, V] | str | None = None,
    ) -> WindowResults[K, V, V | N]:
        """Combine the values of each key and window; see `TimeWindowedKStream#reduce`."""
        return self._results(self._grouped._reducing(function, value), store)

    @without_emit(_PLACE_OF_EMIT)
    def aggregate(
        self,
        aggregator: Aggregator[K, V, S, A],
        *,
        value: Serde[A] | None = None,
        store: _Spans[K, S] | str | None = None,
    ) -> WindowResults[K, V, A | N]:
        """Aggregate the records of each key and window; see `GroupedStream.aggregate`."""
        return self._results(self._grouped._aggregating(aggregator, value), store)

    def _results(
        self, aggregation: Aggregation, given: StoreSpec[Any] | str | None
    ) -> WindowResults[K, V, Any]:
        grouped, kind, emit = self._grouped, self._kind, self._options["emit"]
        operation, aggregator, value, call = aggregation
        stream, name = grouped._stream._in_time(call), grouped._named(operation)
        make: Any = partial(window_store, windows=kind)  # type: ignore[arg-type]  # of these kinds
        if isinstance(kind, SlidingWindows):
            make = sliding_store
        elif isinstance(kind, SessionWindows):
            make = session_store
        serdes: dict[str, KnownSerde] = {"key": stream._facts.key, "value": aggregator.state}
        spec = stream._store(given, dashed(name, windows_name(kind)), call, make, **serdes)
        add: Any = windowed_aggregate  # without its overloads
        supplier = add(kind, grouped._over(aggregator), store=spec, **self._options)
        nulls = isinstance(kind, SessionWindows) and not isinstance(emit, OnClose)
        key = windowed(spec.key, kind)
        changes: dict[str, Any] = {"label": spec.name, "key": key, "value": value, "nulls": nulls}
        changes["delayed"] = not isinstance(emit, EachUpdate)
        facts = stream._facts.after(call, null_keys=False, **changes)
        return WindowResults(facts, supplier, stream)


class WindowResults(Stream[Windowed[K], A], Generic[K, V, A]):
    """The results of windows, and the records that were too late for them."""

    def __init__(self, facts: Facts, supplier: Any, stream: StreamBase[K, V]) -> None:  # noqa: ANN401  # of windows
        plan, parent, name = stream._plan, stream._take(), facts.label
        self._splits = False
        self._source = stream._facts

        def make() -> tuple[Node[Windowed[K], A], Node[K, Late[V]] | None]:
            if self._splits:
                return split_late(plan.builder, name, supplier, parent())
            return plan.builder.add_processor(name, supplier, parent()), None

        self._both = plan.later(make)
        super().__init__(plan, facts, lambda: self._both()[0])

    @property
    def late(self) -> Stream[K, Late[V]]:
        """The late records, with their lateness, under the keys of their groups."""
        self._splits = True
        call, label = self._facts.call, dashed(self._facts.label, "late")
        unknown = Unknown(
            f"a Late[...] value has no serde, replace it with map_values(...): {call}"
        )
        changes: dict[str, Any] = {"label": label, "nulls": False, "moved": True}
        made = wrapped_type(Late, self._source)
        facts = self._source.after(call, value=unknown, value_type=made, **changes)
        return Stream(self._plan, facts, lambda: cast("Node[K, Late[V]]", self._both()[1]))
