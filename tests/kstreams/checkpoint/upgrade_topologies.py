"""Topologies with different parameters, and an app that is upgraded from one to another."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from kstreams import INT64, TEXT, FixedKeyProcessor, Topic, Topology, TopologyBuilder, aggregate
from kstreams.durations import milliseconds
from kstreams.emit import each_update, suppress
from kstreams.joins import left, outer, within
from kstreams.operators import deduplicate, map_
from kstreams.processors.columns import Execution
from kstreams.record import Record
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.state.stores.join.kind import join_store
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.queue.kind import queue_store
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.sliding.kind import sliding_store
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.versioned.kind import versioned_key_value_store
from kstreams.state.stores.window.kind import window_store
from kstreams.windowed import Windowed
from kstreams.windows import SessionWindows, SlidingWindows, windowed, windowed_aggregate
from tests.support.apps.one_query import WholeQuery

__all__ = (
    "Row",
    "aggregated",
    "as_of",
    "deduplicated",
    "expiring",
    "feed",
    "joined",
    "remembered",
    "results",
    "started",
    "suppressed",
    "windowed_keys",
    "windows_of",
)

IN, RIGHT = Topic("in", TEXT, INT64), Topic("right", TEXT, INT64)
OUT = Topic("out", TEXT, TEXT)

Row = tuple[int, str, int]
"""Time, key and value."""


def started(home: Path, topology: Topology, rows: Sequence[Row], right: Sequence[Row] = ()) -> Any:
    """Return an app that has processed records with a topology."""
    query = WholeQuery(home, topology)
    query.start()
    feed(query, rows, right)
    return query


def feed(query: WholeQuery, rows: Sequence[Row], right: Sequence[Row] = ()) -> None:
    """Write records and process them."""
    log = query.connection.log()
    for topic, own in (("right", right), ("in", rows)):
        if own:
            table = pa.table(
                {
                    "timestamp": pa.array([time for time, _, _ in own], pa.int64()),
                    "key": pa.array([key.encode() for _, key, _ in own], pa.binary()),
                    "value": pa.array([INT64.serialize(v) for _, _, v in own], pa.binary()),
                }
            )
            end = log.end_offset(topic, 0)
            log.append(topic, 0, table, producer=topic, batch=end)
    query.run()


def results(query: WholeQuery) -> list[str]:
    """Return the results of an app, as `key=value@time`."""
    return [
        f"{(each.key or b'').decode()}={(each.value or b'').decode()}@{each.timestamp}"
        for each in query.published("out")
    ]


def _written(name: str, supplier: Any, show: Any, stores: Sequence[Any] = ()) -> Topology:
    builder = TopologyBuilder("changed")
    node: Any = builder.add_source("in", IN)
    node = builder.add_processor(name, supplier, node, stores=stores)
    builder.add_sink("out", OUT, builder.add_processor("show", map_(show), node))
    return builder.build()


def _text(key: Any, value: Any) -> tuple[str, str]:
    return str(key), str(value)


def windows_of(
    windows: Any, aggregator: Any, emit: Any, *, execution: Execution = "auto", known: bool = False
) -> Topology:
    """Return a topology that aggregates by windows in store `s`."""
    kind: Any = window_store
    if isinstance(windows, (SessionWindows, SlidingWindows)):
        kind = session_store if isinstance(windows, SessionWindows) else sliding_store
    given = {"windows": windows} if known else {}
    store = kind("s", key=TEXT, value=aggregator.state, **given)
    supplier: Any = windowed_aggregate(
        windows, aggregator, store=store, emit=emit, execution=execution
    )
    return _written("agg", supplier, _text)


def aggregated(aggregator: Any) -> Topology:
    """Return a topology that aggregates by key in store `s`."""
    store = timestamped_store("s", key=TEXT, value=aggregator.state)
    return _written("agg", aggregate(aggregator, store=store, emit=each_update()), _text)


def deduplicated(span: int, by: Any, id: Any = TEXT) -> Topology:  # noqa: A002  # the name in `deduplicate`
    """Return a topology that removes duplicates by means of store `s`."""
    supplier: Any = deduplicate(by, id=id, within=milliseconds(span), store="s")
    return _written("once", supplier, _text)


def suppressed(until: Any, windows: Any = None) -> Topology:
    """Return a topology that suppresses results in store `s`."""
    key: Any = TEXT if windows is None else windowed(TEXT, windows)
    return _written("hold", suppress(until, store=buffer_store("s", key=key, value=INT64)), _text)


def windowed_keys(windows: Any) -> Topology:
    """Return a topology that counts records by window in a key-value store `s`."""
    store: Any = key_value_store("s", key=windowed(TEXT, windows), value=INT64)

    class Count(FixedKeyProcessor[str, int, str]):
        def init(self, context: Any) -> None:
            self.context, self.counts = context, context.store(store)

        def process(self, record: Record[str, int]) -> None:
            (start,) = windows.starts(record.timestamp)
            key = Windowed(record.key, start, windows.end(start))
            total = (self.counts.get(key) or 0) + 1
            self.counts.put(key, total)
            self.context.forward(record.with_value(f"{key}: {total}"))

    return _written("count", Count, _text, [store])


def remembered(ttl: timedelta) -> Topology:
    """Return a topology that counts records by key in a store `s` whose values expire."""
    store: Any = key_value_store("s", key=TEXT, value=INT64, ttl=ttl)

    class Count(FixedKeyProcessor[str, int, str]):
        def init(self, context: Any) -> None:
            self.context, self.counts = context, context.store(store)

        def process(self, record: Record[str, int]) -> None:
            total = (self.counts.get(record.key) or 0) + 1
            self.counts.put(record.key, total)
            self.context.forward(record.with_value(str(total)))

    return _written("count", Count, _text, [store])


def expiring(ttl: timedelta) -> Topology:
    """Return a topology that forwards expired rows of the table in store `s`."""
    builder = TopologyBuilder("changed")
    table = builder.add_table(
        "rows", IN, store=timestamped_store("s", key=TEXT, value=INT64), ttl=ttl
    )
    builder.add_sink("out", OUT, builder.add_processor("show", map_(_change), table))
    return builder.build()


def _change(key: str, change: Any) -> tuple[str, str]:
    return key, str(change.new)


def as_of(retention: timedelta, grace: timedelta) -> Topology:
    """Return a topology that joins `in` with a versioned table of `right` in store `s`."""
    builder = TopologyBuilder("changed")
    store = versioned_key_value_store("s", key=TEXT, value=INT64, retention=retention)
    table = builder.add_table("rows", RIGHT, store=store)
    source = builder.add_source("in", IN)
    waiting = queue_store("waiting", key=TEXT, value=INT64)
    joiner: Any = left(lambda a, b: f"{a}+{b}")
    node = builder.join_as_of("join", source, table, joiner, grace=grace, waiting=waiting)
    builder.add_sink("out", OUT, node)
    return builder.build()


def joined(before: int, after: int, grace: int) -> Topology:
    """Return a topology that joins the streams `in` and `right` in store `s`."""
    builder = TopologyBuilder("changed")
    source, right = builder.add_source("in", IN), builder.add_source("right", RIGHT)
    spans = within(milliseconds(before), milliseconds(after), grace=milliseconds(grace))
    store = join_store("s", key=TEXT, left=INT64, right=INT64)
    joiner: Any = outer(lambda a, b: f"{a}+{b}")
    node = builder.join_streams("join", source, right, joiner, within=spans, store=store)
    builder.add_sink("out", OUT, node)
    return builder.build()
