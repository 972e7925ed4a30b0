"""Topologies for hostile records: every kind of window and of store.

Each has a source, a processor that executes the records' orders, and a topic of forwarded records,
each of which appears once. The state under test precedes the failing processor, so that changes of
a failed record must be undone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from kstreams import (
    INT64,
    TEXT,
    FixedKeyProcessor,
    Node,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    key_value_store,
    timestamped_store,
)
from kstreams.aggregators import count
from kstreams.emit import (
    at_most_every,
    each_update,
    every,
    on_close,
    once_per_batch,
    suppress,
    until_time_limit,
    until_window_closes,
)
from kstreams.operators import by_key, deduplicate
from kstreams.processors.columns import Execution
from kstreams.stores import (
    buffer_store,
    list_store,
    session_store,
    sliding_store,
    versioned_key_value_store,
    window_store,
)
from kstreams.topology import OnError
from kstreams.windows import (
    CalendarWindows,
    HoppingWindows,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    UnlimitedWindows,
    Windowed,
    windowed,
    windowed_aggregate,
)
from tests.support.hostile.failing_processor import ORDERS, Obey, Order

__all__ = ("EMISSIONS", "IN", "OUT", "RESULTS", "STORES", "WINDOWS", "of_store", "of_windows")

IN = Topic("hostile-in", TEXT, ORDERS)
OUT = Topic("hostile-out", TEXT, ORDERS)
RESULTS = "hostile-results"

_MINUTE = timedelta(minutes=1)

WINDOWS: dict[str, Any] = {
    "tumbling": TumblingWindows(_MINUTE, grace=_MINUTE),
    "hopping": HoppingWindows(_MINUTE, advance=_MINUTE / 3, grace=_MINUTE),
    "sliding": SlidingWindows(_MINUTE, grace=_MINUTE),
    "session": SessionWindows(_MINUTE, grace=_MINUTE),
    "calendar": CalendarWindows("month", tz="Europe/Zurich", grace=_MINUTE),
    "unlimited": UnlimitedWindows(),
}

EMISSIONS: dict[str, Any] = {
    "each-update": each_update(),
    "once-per-batch": once_per_batch(),
    "on-close": on_close(),
    "every": every(_MINUTE),
    "at-most-every": at_most_every(_MINUTE),
}


def of_windows(
    kind: str,
    emission: str,
    policy: OnError,
    *,
    obeyed: bool = True,
    execution: Execution = "records",
) -> Topology:
    """Count the records of each key and window, and execute their orders in parallel.

    Args:
        kind: One of `WINDOWS`.
        emission: One of `EMISSIONS`.
        policy: The error policy of the source.
        obeyed: Whether a processor executes the orders.
        execution: By records or by columns.
    """
    windows = WINDOWS[kind]
    builder, records = _begun(policy)
    store = _store_of("state", windows)
    supplier: Any = windowed_aggregate(
        windows, count(), store=store, emit=EMISSIONS[emission], execution=execution
    )
    counts = builder.add_processor("windows", supplier, records)
    results: Any = Topic(RESULTS, windowed(TEXT, windows), INT64, nulls="pass")
    builder.add_sink("results", results, counts)
    if obeyed:
        builder.add_sink("out", OUT, builder.add_processor("obey", Obey, records))
    return builder.build()


def of_store(kind: str, policy: OnError) -> Topology:
    """Put each record into a store, and execute its order in a child node."""
    builder, records = _begun(policy)
    kept = STORES[kind](builder, records)
    builder.add_sink("out", OUT, builder.add_processor("obey", Obey, kept))
    return builder.build()


def _begun(policy: OnError) -> tuple[TopologyBuilder, Node[str, Order]]:
    builder = TopologyBuilder("hostile")
    return builder, builder.add_source("in", IN, on_error=policy)


def _store_of(name: str, windows: Any) -> Any:
    if isinstance(windows, SessionWindows):
        return session_store(name, key=TEXT, value=INT64)
    if isinstance(windows, SlidingWindows):
        return sliding_store(name, key=TEXT, value=INT64)
    return window_store(name, key=TEXT, value=INT64)


@dataclass(frozen=True)
class _Keeps:
    """A supplier of processors that put each record into a store, and forward it."""

    stores: tuple[Any, ...]
    put: Callable[[Any, Record[str, Order]], object]

    def __call__(self) -> FixedKeyProcessor[str, Order, Order]:
        return _Keep(self)


class _Keep(FixedKeyProcessor[str, Order, Order]):
    def __init__(self, settings: _Keeps) -> None:
        self._settings = settings

    def init(self, context: ProcessorContext[str, Order]) -> None:
        self.context, self._store = context, context.store(self._settings.stores[0])

    def process(self, record: Record[str, Order]) -> None:
        self._settings.put(self._store, record)
        self.context.forward(record)


def _kept(spec: Any, put: Callable[[Any, Record[str, Order]], object]) -> Any:
    def add(builder: TopologyBuilder, records: Node[str, Order]) -> Node[str, Order]:
        return builder.add_processor("keep", _Keeps((spec,), put), records)

    return add


def _count(store: Any, record: Record[str, Order]) -> None:
    store.put(record.key, (store.get(record.key) or 0) + 1)


def _count_in_window(store: Any, record: Record[str, Order]) -> None:
    start = record.timestamp // 1000 * 1000
    window = Windowed(record.key, start, start + 1000)
    store.put(window, (store.get(window) or 0) + 1)


def _deduplicated(builder: TopologyBuilder, records: Node[str, Order]) -> Node[str, Order]:
    supplier = deduplicate(by_key(), id=TEXT, within=timedelta(milliseconds=1), store="state")
    return builder.add_processor("deduplicate", supplier, records)


def _suppressed(builder: TopologyBuilder, records: Node[str, Order]) -> Node[str, Order]:
    """Suppress records by time, and a window's counts until it closes, next to the orders."""
    held = suppress(
        until_time_limit(_MINUTE, max_records=3),
        store=buffer_store("state", key=TEXT, value=ORDERS),
    )
    last: Topic[str, Order] = Topic("last", TEXT, ORDERS)
    builder.add_sink("last", last, builder.add_processor("hold", held, records))
    windows = WINDOWS["tumbling"]
    counts = windowed_aggregate(windows, count(), store=_store_of("counts", windows))
    final = suppress(
        until_window_closes(windows),
        store=buffer_store("finals", key=windowed(TEXT, windows), value=INT64),
    )
    counted: Any = builder.add_processor("windows", counts, records)
    results: Any = Topic(RESULTS, windowed(TEXT, windows), INT64)
    builder.add_sink("results", results, builder.add_processor("until-close", final, counted))
    return records


STORES: dict[str, Callable[[TopologyBuilder, Node[str, Order]], Node[str, Order]]] = {
    "key-value": _kept(key_value_store("state", key=TEXT, value=INT64), _count),
    "ttl": _kept(key_value_store("state", key=TEXT, value=INT64, ttl=_MINUTE), _count),
    "timestamped": _kept(
        timestamped_store("state", key=TEXT, value=ORDERS),
        lambda store, record: store.put(record.key, record.value, record.timestamp),
    ),
    "versioned": _kept(
        versioned_key_value_store("state", key=TEXT, value=ORDERS, retention=_MINUTE),
        lambda store, record: store.put(record.key, record.value, record.timestamp),
    ),
    "list": _kept(
        list_store("state", key=TEXT, value=ORDERS),
        lambda store, record: store.append(record.key, record.value),
    ),
    "window": _kept(window_store("state", key=TEXT, value=INT64), _count_in_window),
    "session": _kept(
        session_store("state", key=TEXT, value=ORDERS),
        lambda store, record: store.put(
            Windowed(record.key, record.timestamp, record.timestamp + 1), record.value
        ),
    ),
    "deduplicate": _deduplicated,
    "suppress": _suppressed,
}
