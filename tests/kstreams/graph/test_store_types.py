"""Stores whose serdes do not match the records written to them are rejected by `build()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kstreams import (
    DOUBLE,
    INT64,
    NONE,
    TEXT,
    Serde,
    Topic,
    TopologyBuilder,
    aggregate,
    timestamped_store,
)
from kstreams.aggregators import count
from kstreams.durations import minutes, seconds
from kstreams.emit import suppress, until_time_limit
from kstreams.errors import TopologyError
from kstreams.joins import inner, within
from kstreams.operators import by_header, by_key, deduplicate, reduce
from kstreams.serde import INT32
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.stores import (
    buffer_store,
    join_store,
    queue_store,
    session_store,
    sliding_store,
    versioned_key_value_store,
    window_store,
)
from kstreams.topology import to_stdout
from kstreams.windows import SessionWindows, SlidingWindows, TumblingWindows, windowed_aggregate
from tests.support.topologies.word_count import Keeps

IN = Topic("in", TEXT, INT64)
OTHER = Topic("other", TEXT, INT64)
ROWS = Topic("rows", TEXT, INT64, nulls="pass")

Wire = Callable[[TopologyBuilder, Any, Serde[Any], Serde[Any]], None]


def aggregated(b: TopologyBuilder, s: Any, key: Serde[Any], _: Serde[Any]) -> None:
    store = timestamped_store("w", key=key, value=INT64)
    b.add_processor("a", aggregate(count(), store=store), s)


def reduced(b: TopologyBuilder, s: Any, key: Serde[Any], _: Serde[Any]) -> None:
    store = timestamped_store("w", key=key, value=INT64)
    b.add_processor("a", reduce(max, store=store), s)


def tumbling(b: TopologyBuilder, s: Any, key: Serde[Any], _: Serde[Any]) -> None:
    windows = TumblingWindows(seconds(1))
    store = window_store("w", key=key, value=INT64)
    b.add_processor("a", windowed_aggregate(windows, count(), store=store), s)


def sessions(b: TopologyBuilder, s: Any, key: Serde[Any], _: Serde[Any]) -> None:
    windows = SessionWindows(seconds(1))
    store = session_store("w", key=key, value=INT64)
    b.add_processor("a", windowed_aggregate(windows, count(), store=store), s)


def sliding(b: TopologyBuilder, s: Any, key: Serde[Any], _: Serde[Any]) -> None:
    windows = SlidingWindows(seconds(1))
    store = sliding_store("w", key=key, value=INT64)
    b.add_processor("a", windowed_aggregate(windows, count(), store=store), s)


def deduplicated(b: TopologyBuilder, s: Any, key: Serde[Any], _: Serde[Any]) -> None:
    b.add_processor("a", deduplicate(by_key(), id=key, within=seconds(1), store="w"), s)


def suppressed(b: TopologyBuilder, s: Any, key: Serde[Any], value: Serde[Any]) -> None:
    store = buffer_store("w", key=key, value=value)
    b.add_processor("a", suppress(until_time_limit(seconds(1)), store=store), s)


def table(b: TopologyBuilder, s: Any, key: Serde[Any], value: Serde[Any]) -> None:
    b.add_sink("out", to_stdout(), s)
    b.add_table("a", ROWS, store=timestamped_store("w", key=key, value=value))


def versioned(b: TopologyBuilder, s: Any, key: Serde[Any], value: Serde[Any]) -> None:
    store = versioned_key_value_store("w", key=key, value=value, retention=minutes(1))
    b.to_table("a", s, store=store)


def global_table(b: TopologyBuilder, s: Any, key: Serde[Any], value: Serde[Any]) -> None:
    b.add_sink("out", to_stdout(), s)
    b.add_global_table("a", ROWS, store=timestamped_store("w", key=key, value=value))


def joined(b: TopologyBuilder, s: Any, key: Serde[Any], _: Serde[Any]) -> None:
    store = join_store("w", key=key, left=INT64, right=INT64)
    near = within(seconds(1), grace=seconds(0))
    other = b.add_source("other", OTHER)
    b.join_streams("a", s, other, inner(lambda one, _: one), within=near, store=store)


def self_joined(b: TopologyBuilder, s: Any, key: Serde[Any], _: Serde[Any]) -> None:
    store = join_store("w", key=key, left=INT64, right=INT64)
    near = within(seconds(1), grace=seconds(0))
    b.join_streams("a", s, s, inner(lambda one, _: one), within=near, store=store)


def joined_as_of(b: TopologyBuilder, s: Any, key: Serde[Any], _: Serde[Any]) -> None:
    rows = versioned_key_value_store("rows", key=TEXT, value=INT64, retention=minutes(1))
    made = b.add_table("rows", ROWS, store=rows)
    waiting = queue_store("w", key=key, value=INT64)
    joiner: Any = inner(lambda one, _: one)
    b.join_as_of("a", s, made, joiner, grace=seconds(1), waiting=waiting)


BY_KEY: list[Wire] = [
    aggregated,
    reduced,
    tumbling,
    sessions,
    sliding,
    deduplicated,
    suppressed,
    table,
    versioned,
    global_table,
    joined,
    self_joined,
    joined_as_of,
]
BY_VALUE: list[Wire] = [suppressed, table, versioned, global_table]


def problems(wire: Wire, topic: Topic[Any, Any], key: Serde[Any], value: Serde[Any]) -> list[str]:
    builder = TopologyBuilder("t")
    wire(builder, builder.add_source("in", topic), key, value)
    try:
        builder.build()
    except TopologyError as exc:
        return list(exc.problems)
    return []


@pytest.mark.parametrize("wire", BY_KEY)
def test_build_rejects_store_with_key_serde_of_other_type_than_stream(wire: Wire) -> None:
    found = problems(wire, IN, INT32, INT64)
    assert found
    assert all("'a'" in each and "'w'" in each and "(key=int32)" in each for each in found)
    assert all("forwards str" in each for each in found)


@pytest.mark.parametrize("wire", BY_VALUE)
def test_build_rejects_store_with_value_serde_of_other_type_than_stream(wire: Wire) -> None:
    (problem,) = problems(wire, IN, TEXT, TEXT)
    assert "(value=text)" in problem
    assert "forwards int" in problem


@pytest.mark.parametrize("wire", BY_KEY)
@pytest.mark.parametrize(
    "topic",
    [IN, Topic("in", TEXT, INT64, null_keys="pass"), Topic("in", TEXT, INT64, nulls="pass")],
    ids=["plain", "null keys", "nulls"],
)
def test_build_accepts_store_with_serdes_of_stream(wire: Wire, topic: Topic[Any, Any]) -> None:
    assert problems(wire, topic, TEXT, INT64) == []


def test_store_key_is_checked_for_each_parent_and_after_nodes_that_keep_keys() -> None:
    builder = TopologyBuilder("t")
    one = builder.add_processor("keeps", Keeps, builder.add_source("in", IN))
    two = builder.add_source("two", Topic("two", TEXT, INT64))
    store = timestamped_store("w", key=DOUBLE, value=INT64)
    builder.add_processor("a", aggregate(count(), store=store), one, two)
    with pytest.raises(TopologyError) as caught:
        builder.build()
    assert [problem.split("but ")[1][:7] for problem in caught.value.problems] == [
        "'keeps'",
        "'two' f",
    ]


def test_build_accepts_stores_whose_keys_are_not_the_stream_keys() -> None:
    builder = TopologyBuilder("t")
    ids: Any = TEXT
    once = deduplicate(by_header("id"), id=ids, within=seconds(1), store="ids")
    builder.add_processor("once", once, builder.add_source("in", Topic("in", INT64, INT64)))
    own = key_value_store("own", key=INT32, value=INT64)
    builder.add_processor("own", Keeps, builder.add_source("two", OTHER), stores=[own])
    store = timestamped_store("w", key=TEXT, value=INT64)
    none: Any = builder.add_source("none", Topic("none", NONE, INT64))
    builder.add_processor("a", aggregate(count(), store=store), none)
    builder.build()
