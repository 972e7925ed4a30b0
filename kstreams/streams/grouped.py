"""`GroupedStream` and `CogroupedStream`: aggregations by key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from kstreams._types import K, S, V
from kstreams.aggregators.aggregator import Aggregator
from kstreams.aggregators.count import count
from kstreams.aggregators.over import over
from kstreams.aggregators.reduce import reducing
from kstreams.errors import TopologyError
from kstreams.graph import nodes
from kstreams.graph.building.feed import FeedSupplier, feed
from kstreams.graph.nodes import Node
from kstreams.options import checks_options
from kstreams.processors.aggregate import aggregate
from kstreams.processors.columns import Execution
from kstreams.processors.emission import (
    AtMostEvery,
    EachUpdate,
    Emission,
    Every,
    OncePerBatch,
    OnClose,
    once_per_batch,
)
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.numbers import INT64
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.stored_names import dashed
from kstreams.streams.aggregations import Aggregation, result_serde, stored_name
from kstreams.streams.checks import BOTH_VALUES, ONE_VALUE, STATE_AND_RECORD, without_emit
from kstreams.streams.functions import name_of
from kstreams.streams.plan import call_of
from kstreams.streams.serdes import KnownSerde, common_serde, needed
from kstreams.streams.table import Table
from kstreams.streams.windowed import WindowedStream
from kstreams.windows.contract import TimeWindows
from kstreams.windows.kinds.session import SessionWindows
from kstreams.windows.kinds.sliding import SlidingWindows

if TYPE_CHECKING:
    from typing_extensions import Never

    from kstreams.streams.stream_base import StreamBase

__all__ = ("CogroupedStream", "GroupedStream")

W = TypeVar("W")
"""The type of the aggregated part of a value."""
A = TypeVar("A")
"""The type of the results."""
_ONCE = once_per_batch()
_PLACE_OF_EMIT = "to_stream(emit=...), to(topic, emit=...) or windowed_by(windows, emit=...)"
_Rows = StoreSpec[TimestampedStore[K, V]] | str | None
_Kind = TimeWindows | SlidingWindows | SessionWindows
_Updates = EachUpdate | OncePerBatch | Every | AtMostEvery
_Update = Callable[[S | None, Record[K, V]], S | None]


class GroupedStream(Generic[K, V]):
    """Records by key, for an aggregation with one result per key.

    In all aggregations, `store=` is the definition of the store, for views, changelogs and
    processors, or only its name; `ttl=` is the time to live of a row, counted from the row's time;
    and `execution=` is by records or by columns, as for `kstreams.operators.aggregate`.

    Source: `org.apache.kafka.streams.kstream.KGroupedStream`.
    """

    def __init__(self, stream: StreamBase[K, Any], part: Callable[[Any], V] | None = None) -> None:
        self._stream = stream
        self._part = part

    def over(self, part: Callable[[V], W]) -> GroupedStream[K, W]:
        """Aggregate a part of each value: the result of a function, or a `field(...)`.

        Raises:
            TopologyError: The method was called before.
        """
        call = self._stream._call("over", part, ONE_VALUE)
        if self._part is not None:
            raise TopologyError(
                f"{call} is the second over(...) of a stream",
                hint="pass one function that returns the part to aggregate.",
            )
        return GroupedStream(self._stream, part)

    @without_emit(_PLACE_OF_EMIT)
    @checks_options
    def count(
        self,
        *,
        store: _Rows[K, int] = None,
        ttl: timedelta | None = None,
        execution: Execution = "auto",
    ) -> Table[K, int]:
        """Count the records of each key; see `KGroupedStream#count`."""
        return self._table(self._counting(), store, ttl, execution)

    @without_emit(_PLACE_OF_EMIT)
    @checks_options
    def reduce(
        self,
        function: Callable[[V, V], V],
        *,
        value: Serde[V] | None = None,
        store: _Rows[K, V] = None,
        ttl: timedelta | None = None,
        execution: Execution = "auto",
    ) -> Table[K, V]:
        """Combine the values of each key, two at a time; see `KGroupedStream#reduce`."""
        return self._table(self._reducing(function, value), store, ttl, execution)

    @without_emit(_PLACE_OF_EMIT)
    @checks_options
    def aggregate(
        self,
        aggregator: Aggregator[K, V, S, A],
        *,
        value: Serde[A] | None = None,
        store: _Rows[K, S] = None,
        ttl: timedelta | None = None,
        execution: Execution = "auto",
    ) -> Table[K, A]:
        """Aggregate the records of each key; see `KGroupedStream#aggregate`.

        Args:
            aggregator: Such as `sum_(DOUBLE)`, `max_(INT64)`, `top_n(...)` or `fold(...)`.
            value: The serde of the results; needed if a later step writes results of another type
                than the states.
            store: See `GroupedStream`.
            ttl: See `GroupedStream`.
            execution: See `GroupedStream`.
        """
        return self._table(self._aggregating(aggregator, value), store, ttl, execution)

    @overload
    def windowed_by(
        self,
        kind: TimeWindows | SlidingWindows,
        *,
        emit: Emission = ...,
        execution: Execution = ...,
    ) -> WindowedStream[K, V, Never]: ...
    @overload
    def windowed_by(
        self, kind: SessionWindows, *, emit: OnClose, execution: Execution = ...
    ) -> WindowedStream[K, V, Never]: ...
    @overload
    def windowed_by(
        self, kind: SessionWindows, *, emit: _Updates = ..., execution: Execution = ...
    ) -> WindowedStream[K, V, None]: ...
    @checks_options
    def windowed_by(
        self, kind: _Kind, *, emit: Emission = _ONCE, execution: Execution = "auto"
    ) -> WindowedStream[K, V, Never] | WindowedStream[K, V, None]:
        """Divide the records of each key by windows; see `KGroupedStream#windowedBy`.

        Args:
            kind: The windows.
            emit: When results are forwarded: `on_close()` forwards one final result of each window.
                With another emission, None revokes the result of a session that has grown.
            execution: By records or by columns, as for `kstreams.windows.windowed_aggregate`.
        """
        return WindowedStream(self, kind, emit, execution)

    def cogroup(
        self, update: _Update[S, K, V], *, state: Serde[S] | None = None
    ) -> CogroupedStream[K, S]:
        """Start a table that several streams update; see `KGroupedStream#cogroup`.

        Args:
            update: Called with the state of a key (None at first) and a record; returns the new
                state, and None to delete the state.
            state: The serde of the states.
        """
        return CogroupedStream[K, S](()).cogroup(self, update, state=state)

    def _counting(self) -> Aggregation:
        return Aggregation("count", count(), INT64, self._stream._call("count"))

    def _reducing(self, function: Callable[[V, V], V], value: Serde[V] | None) -> Aggregation:
        stream, part = self._stream, self._part
        call, found = stream._call("reduce", function, BOTH_VALUES), stream._facts.value
        if part is not None and value is None:
            found = stream._result(part, None, call, types=stream._facts.value_types()).serde
        made = reducing(function, value or needed(found, "value", call))
        return Aggregation(name_of(function) or "reduce", made, made.state, call)

    def _aggregating(self, aggregator: Any, value: Serde[Any] | None) -> Aggregation:  # noqa: ANN401
        name = stored_name(aggregator)
        call = call_of("aggregate", name)
        serde = value or result_serde(aggregator, self._stream._plan.serdes, call)
        return Aggregation(name, aggregator, serde, call)

    def _named(self, operation: str) -> str:
        """Return the name of an aggregation's state, without the windows."""
        part = "" if self._part is None else name_of(self._part)
        return dashed(self._stream._facts.label, part, operation)

    def _over(self, aggregator: Aggregator[K, Any, Any, A]) -> Aggregator[K, Any, Any, A]:
        return aggregator if self._part is None else over(self._part, aggregator)

    def _table(
        self,
        aggregation: Aggregation,
        store: StoreSpec[Any] | str | None,
        ttl: timedelta | None,
        execution: Execution,
    ) -> Table[K, Any]:
        (operation, aggregator, value, call), plan = aggregation, self._stream._plan
        stream = self._stream._by_key(call)
        serdes: dict[str, KnownSerde] = {"key": stream._facts.key, "value": aggregator.state}
        spec = stream._store(store, self._named(operation), call, timestamped_store, **serdes)
        made: Any = aggregate(self._over(aggregator), store=spec, execution=execution)
        parent, name = stream._take(), spec.name

        def results(emit: EachUpdate | OncePerBatch) -> Node[K, Any]:
            return plan.builder.add_processor(name, replace(made, emit=emit), parent())

        changes: dict[str, Any] = {"label": name, "value": value, "nulls": False}
        facts = stream._facts.after(call, null_keys=False, **changes)
        table: Table[K, Any] = Table(
            plan,
            facts,
            lambda: plan.builder.aggregate_table(name, made, parent(), ttl=ttl),
            results if ttl is None else None,
        )
        plan.later(table._settle)
        return table


class CogroupedStream(Generic[K, S]):
    """Streams that update one table together.

    Source: `org.apache.kafka.streams.kstream.CogroupedKStream`; goka's group table.
    """

    def __init__(self, feeds: tuple[tuple[StreamBase[K, Any], Any, KnownSerde], ...]) -> None:
        self._feeds = feeds

    def cogroup(
        self,
        grouped: GroupedStream[K, V],
        update: _Update[S, K, V],
        *,
        state: Serde[S] | None = None,
    ) -> CogroupedStream[K, S]:
        """Add another stream that updates the table; see `CogroupedKStream#cogroup`.

        Raises:
            TopologyError: The stream has an `over(...)`.
        """
        stream = grouped._stream
        call = stream._call("cogroup", update, STATE_AND_RECORD)
        if grouped._part is not None:
            raise TopologyError(
                f"{call} follows over(...), but an update gets complete records",
                hint="leave out over(...), and read the part in the update function.",
            )
        found = stream._result(update, state, call, types=(object, object)).serde
        return CogroupedStream((*self._feeds, (stream, update, found)))

    @without_emit(_PLACE_OF_EMIT)
    def aggregate(self, *, store: _Rows[K, S] = None, ttl: timedelta | None = None) -> Table[K, S]:
        """Return the table of the states; see `CogroupedKStream#aggregate`."""
        streams = [stream for stream, _, _ in self._feeds]
        first, plan = streams[0], streams[0]._plan
        call, name = first._call("cogroup"), dashed(first._facts.label, "cogroup")
        anchor = next((each._facts for each in streams if not each._facts.moved), None)
        below = [stream._by_key(call, anchor) for stream in streams]
        key = common_serde([each._facts.key for each in below], "key", call)
        value = common_serde([state for _, _, state in self._feeds], "state", call)
        if not isinstance(store, StoreSpec):
            value = needed(value, "state", call)
        spec = first._store(store, name, call, timestamped_store, key=key, value=value)
        updates = [update for _, update, _ in self._feeds]
        parents = [stream._take() for stream in below]

        def make() -> nodes.Table[K, S]:
            pairs = zip(parents, updates, strict=True)
            feeds: list[FeedSupplier[K, S]] = [feed(parent(), each) for parent, each in pairs]
            return plan.builder.cogroup(spec.name, *feeds, store=spec, ttl=ttl)

        changes: dict[str, Any] = {"label": spec.name, "key": spec.key, "value": spec.value}
        made = below[0]._facts.after(call, nulls=False, null_keys=False, **changes)
        return Table(plan, made, plan.later(make))
