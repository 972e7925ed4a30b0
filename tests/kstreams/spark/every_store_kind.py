"""A topology with every kind of store and emission, whose files an older release wrote."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from kstreams import (
    INT64,
    TEXT,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    key_value_store,
    timestamped_store,
)
from kstreams.aggregators import count
from kstreams.emit import at_most_every, each_update, every, on_close, suppress, until_time_limit
from kstreams.operators import by_key, deduplicate
from kstreams.stores import (
    buffer_store,
    list_store,
    session_store,
    sliding_store,
    versioned_key_value_store,
    window_store,
)
from kstreams.windows import (
    HoppingWindows,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    Windowed,
    windowed,
    windowed_aggregate,
)

__all__ = ("NUMBERS", "OUTPUTS", "RECORDS", "every_kind")

MINUTE = timedelta(minutes=1)
NUMBERS = Topic("numbers", TEXT, INT64)
RECORDS = [(f"k{n % 3}", n, 1_000_000 + n * 7_000 + n // 45 * 300_000) for n in range(60)]
"""Keys, values and times.

The older release processed the first half; in the second half a pause ends sessions.
"""

_Put = Callable[[Any, Record[str, int]], object]


class _Keep(FixedKeyProcessor[str, int, int]):
    def __init__(self, spec: Any, put: _Put) -> None:
        self._spec, self._put = spec, put

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self._store = context, context.store(self._spec)

    def process(self, record: Record[str, int]) -> None:
        self._put(self._store, record)


def _add(store: Any, record: Record[str, int]) -> None:
    store.put(record.key, (store.get(record.key) or 0) + record.value)


def _at_time(store: Any, record: Record[str, int]) -> None:
    store.put(record.key, record.value, record.timestamp)


def _in_list(store: Any, record: Record[str, int]) -> None:
    store.append(record.key, record.value)


def _in_window(store: Any, record: Record[str, int]) -> None:
    start = record.timestamp // 1000 * 1000
    store.put(Windowed(record.key, start, start + 1000), record.value)


def _in_session(store: Any, record: Record[str, int]) -> None:
    store.put(Windowed(record.key, record.timestamp, record.timestamp + 1), record.value)


KEPT: dict[str, tuple[Any, _Put]] = {
    "key-value": (key_value_store("key-value", key=TEXT, value=INT64), _add),
    "ttl": (key_value_store("ttl", key=TEXT, value=INT64, ttl=MINUTE), _add),
    "timestamped": (timestamped_store("timestamped", key=TEXT, value=INT64), _at_time),
    "versioned": (
        versioned_key_value_store("versioned", key=TEXT, value=INT64, retention=MINUTE),
        _at_time,
    ),
    "list": (list_store("list", key=TEXT, value=INT64), _in_list),
    "window": (window_store("window", key=TEXT, value=INT64), _in_window),
    "session": (session_store("session", key=TEXT, value=INT64), _in_session),
}

_TUMBLING = TumblingWindows(MINUTE, grace=MINUTE)
_HOPPING = HoppingWindows(MINUTE, advance=MINUTE / 3, grace=MINUTE)
_SESSIONS = SessionWindows(MINUTE, grace=MINUTE)
_SLIDING = SlidingWindows(MINUTE, grace=MINUTE)

_AGGREGATES: dict[str, tuple[Any, Any, Any]] = {
    "each": (_TUMBLING, window_store("w-each", key=TEXT, value=INT64), each_update()),
    "every": (_HOPPING, window_store("w-every", key=TEXT, value=INT64), every(MINUTE)),
    "paced": (_TUMBLING, window_store("w-paced", key=TEXT, value=INT64), at_most_every(MINUTE)),
    "closed": (_SESSIONS, session_store("w-closed", key=TEXT, value=INT64), on_close()),
    "sliding": (_SLIDING, sliding_store("w-sliding", key=TEXT, value=INT64), each_update()),
}

OUTPUTS: dict[str, Any] = {
    **{
        name: Topic(f"{name}-out", windowed(TEXT, windows), INT64, nulls="pass")
        for name, (windows, _, _) in _AGGREGATES.items()
    },
    "held": Topic("held-out", TEXT, INT64),
    "once": Topic("once-out", TEXT, INT64),
}


def every_kind() -> Topology:
    """Build the topology; names, kinds, serdes and order equal those of the older release."""
    builder = TopologyBuilder("every-kind")
    numbers = builder.add_source("numbers", NUMBERS)
    for name, kept in KEPT.items():
        builder.add_processor(f"keep-{name}", _supplier(*kept), numbers, stores=[kept[0]])
    nodes: dict[str, Any] = {}
    for name, (windows, store, emit) in _AGGREGATES.items():
        supplier: Any = windowed_aggregate(windows, count(), store=store, emit=emit)
        nodes[name] = builder.add_processor(name, supplier, numbers)
    buffer = buffer_store("buffer", key=TEXT, value=INT64)
    hold = suppress(until_time_limit(MINUTE), store=buffer)
    nodes["held"] = builder.add_processor("held", hold, numbers)
    once = deduplicate(by_key(), id=TEXT, within=MINUTE, store="seen")
    nodes["once"] = builder.add_processor("once", once, numbers)
    for name, topic in OUTPUTS.items():
        builder.add_sink(f"{name}-out", topic, nodes[name])
    return builder.build()


def _supplier(spec: Any, put: _Put) -> Callable[[], _Keep]:
    return lambda: _Keep(spec, put)
