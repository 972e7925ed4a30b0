"""Joins of a stream with a table give the same results by columns and by records."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import (
    BYTES,
    INT64,
    TEXT,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Serde,
    Topic,
    Topology,
    TopologyBuilder,
    filter_,
    map_,
    map_values,
    rekey,
    timestamped_store,
)
from kstreams.durations import milliseconds, seconds
from kstreams.errors import ProcessingError, TopologyError
from kstreams.joins import JoinerSupplier, OneSided, inner, left
from kstreams.processors import PunctuationType
from kstreams.serde import BOOL, INT32
from kstreams.stores import versioned_key_value_store
from kstreams.testing import TopologyTestDriver
from kstreams.topology import to_stdout
from kstreams_json import json_serde

CLICKS = Topic("clicks", TEXT, INT64, nulls="pass", null_keys="pass")
USERS = Topic("users", TEXT, TEXT)
PAIR = json_serde(tuple[int, str | None])
OUT = Topic("out", TEXT, PAIR)
STORE = timestamped_store("users", key=TEXT, value=TEXT)
HISTORY = versioned_key_value_store("users", key=TEXT, value=TEXT, retention=milliseconds(8))

Joiner = JoinerSupplier["int | None", str, "tuple[int, str | None]", OneSided]


def pair(number: int | None, name: str | None) -> tuple[int, str | None]:
    assert number is not None
    return number, name


class Ticks(FixedKeyProcessor[str, tuple[int, str | None], tuple[int, str | None]]):
    """Forwards each record, and an extra record at each interval of stream time."""

    def init(self, context: ProcessorContext[str, tuple[int, str | None]]) -> None:
        super().init(context)
        context.schedule(seconds(0.005), PunctuationType.STREAM_TIME, self.tick)

    def process(self, record: Record[str, tuple[int, str | None]]) -> None:
        self.context.forward(record)

    def tick(self, now_ms: int) -> None:
        self.context.forward(Record("tick", (now_ms, None), now_ms))


def topology(
    execution: str,
    joiner: Joiner,
    *,
    ticks: bool,
    chain: bool,
    store: Any = STORE,
    derived: bool = False,
) -> Topology:
    builder = TopologyBuilder("t")
    clicks = builder.add_source("clicks", CLICKS)
    users: Any = builder.add_table("users", USERS, store=store)
    if derived:
        users = builder.derive("of key", users, lambda k, v: f"{k} is {v}")
        users = builder.derive("some", users, lambda k, v: v if v != "a is x" else None)
    node = builder.join_table("join", clicks, users, joiner, execution=execution)  # type: ignore[arg-type]
    if chain:
        other = builder.join_table("again", clicks, users, left(pair), execution=execution)  # type: ignore[arg-type]
        builder.add_sink("other", Topic("other", TEXT, PAIR), other)
        node = builder.add_processor("few", filter_(lambda _, v: v[0] % 5 != 3), node)
        node = builder.add_processor("more", map_values(lambda v: (v[0] + 1, v[1])), node)
        node = builder.add_processor("key", rekey(lambda k, v: f"{k}{v[1]}"), node)
        node = builder.add_processor("both", map_(lambda k, v: (k or "", v)), node)
    if ticks:
        node = builder.add_processor("ticks", Ticks, node)
    builder.add_sink("out", OUT, node)
    return builder.build()


KEYS = st.sampled_from(["a", "b", "c", "d"])
EVENTS = st.one_of(
    st.tuples(st.just("clicks"), st.none() | KEYS, st.none() | st.integers(0, 99)),
    st.tuples(st.just("users"), KEYS, st.none() | st.sampled_from(["x", "y"])),
)
BATCHES = st.lists(st.lists(st.tuples(EVENTS, st.integers(0, 30)), max_size=30), max_size=4)


Batch = list[tuple[tuple[str, str | None, Any], int]]


def written(driver: TopologyTestDriver, batch: Batch, value: Serde[Any]) -> None:
    """Write the records of a batch; clicks are serialized by the given serde."""
    for (topic, key, content), time in batch:
        serde = value if topic == "clicks" else TEXT
        driver.write_bytes(
            topic,
            None if key is None else TEXT.serialize(key),
            None if content is None else serde.serialize(content),
            timestamp=time,
        )


@pytest.mark.long
@settings(max_examples=150)
@given(
    BATCHES,
    st.sampled_from([inner(pair), left(pair)]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([(STORE, False), (STORE, True), (HISTORY, False), (HISTORY, True)]),
)
def test_table_lookups_give_same_results_by_columns_and_records(
    batches: list[Batch],
    joiner: Joiner,
    ticks: bool,
    chain: bool,
    table: tuple[Any, bool],
) -> None:
    results = []
    store, derived = table
    for execution in ("records", "columns"):
        made = topology(execution, joiner, ticks=ticks, chain=chain, store=store, derived=derived)
        with TopologyTestDriver(made, partitions=2) as driver:
            for batch in batches:
                written(driver, batch, INT64)
                driver.run()
            rows = [
                (r.partition, r.key, r.value, r.timestamp, r.headers)
                for topic in ("out", "other")[: 1 + chain]
                for r in driver.read_rows(topic)
            ]
            stored = {p: list(driver.store(store, p).range()) for p in range(2)}
            results.append((rows, stored, driver.dropped))
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("serde", "one", "other"),
    [(BOOL, True, False), (INT32, 1, -2), (INT64, 1, -2), (BYTES, b"a", b"\xff"), (TEXT, "a", "ä")],
    ids=["bool", "int32", "int64", "bytes", "text"],
)
@pytest.mark.parametrize("kept", ["last", "history"])
def test_look_up_finds_rows_by_keys_of_each_type(
    serde: Any, one: Any, other: Any, kept: str
) -> None:
    clicks = Topic("clicks", serde, INT64, null_keys="pass")
    users = Topic("users", serde, TEXT, nulls="pass")
    out: Any = Topic("out", serde, PAIR, null_keys="pass")
    results = []
    for execution in ("records", "columns"):
        builder: Any = TopologyBuilder("t")
        store: Any = timestamped_store("users", key=serde, value=TEXT)
        if kept == "history":
            store = versioned_key_value_store(
                "users", key=serde, value=TEXT, retention=milliseconds(100)
            )
        table = builder.add_table("users", users, store=store)
        stream = builder.add_source("clicks", clicks)
        node = builder.join_table("join", stream, table, left(pair), execution=execution)
        builder.add_sink("out", out, node)
        with TopologyTestDriver(builder.build()) as driver:
            for time in (0, 10, 20):
                driver.write(users, one, f"at {time}", timestamp=time)
                for place, key in enumerate((one, other, None)):
                    driver.write(clicks, key, time, timestamp=time + place)
                driver.run()
            driver.write(users, one, None, timestamp=30)
            driver.write(clicks, one, 1, timestamp=15)
            driver.write(clicks, one, 2, timestamp=31)
            driver.run()
            results.append([(r.key, r.value, r.timestamp) for r in driver.read(out)])
    assert results[0] == results[1]
    assert (one, (10, "at 10"), 10) in results[1]
    assert (other, (10, None), 11) in results[1]


def executions(topology: Topology) -> list[str]:
    lines = topology.describe().splitlines()
    return [line.strip() for line in lines if line.strip().startswith("execution")]


def test_table_join_and_following_nodes_run_by_columns() -> None:
    made = topology("auto", left(pair), ticks=False, chain=True)
    assert executions(made) == ["execution: columns"] * 7


def test_table_and_its_join_run_by_records_if_other_nodes_read_the_table() -> None:
    builder = TopologyBuilder("t")
    clicks = builder.add_source("clicks", Topic("clicks", TEXT, INT64))
    users = builder.add_table("users", USERS, store=STORE)
    builder.add_sink("out", to_stdout(), builder.join_table("join", clicks, users, left(pair)))
    builder.add_sink("table", to_stdout(), builder.to_stream("each", users))
    why = "node 'each' receives its changes or reads its store"
    assert executions(builder.build()) == [
        f"execution: records ({why})",
        f"execution: records (its table 'users' runs by records: {why})",
    ]


def test_derived_table_runs_by_records_if_nodes_other_than_look_ups_read_it() -> None:
    def made(more: str) -> list[str]:
        store = HISTORY if more == "history" else STORE
        builder: Any = TopologyBuilder("t")
        clicks = builder.add_source("clicks", Topic("clicks", TEXT, INT64))
        users = builder.add_table("users", USERS, store=store)
        some = builder.derive("some", users, lambda _, v: v)
        builder.add_sink("out", to_stdout(), builder.join_table("join", clicks, some, left(pair)))
        if more == "changes":
            builder.add_sink("table", to_stdout(), builder.to_stream("each", some))
        return executions(builder.build())

    assert made("") == ["execution: columns"] * 3
    assert any("'each' receives its changes or reads its store" in each for each in made("changes"))
    assert "execution: columns" not in made("changes")
    assert made("history") == ["execution: columns"] * 3


def test_failing_function_of_derived_table_names_looking_up_record() -> None:
    builder: Any = TopologyBuilder("t")
    clicks = builder.add_source("clicks", Topic("clicks", TEXT, INT64))
    users = builder.add_table("users", USERS, store=STORE)
    some = builder.derive("some", users, lambda _, v: 1 // (v != "y") and v)
    node = builder.join_table("join", clicks, some, left(pair), execution="columns")
    builder.add_sink("out", Topic("out", TEXT, PAIR), node)
    with TopologyTestDriver(builder.build()) as driver:
        driver.write(USERS, "b", "y", timestamp=1)
        for time, key in enumerate("ab", 2):
            driver.write(CLICKS, key, 1, timestamp=time)
        with pytest.raises(ProcessingError, match="ZeroDivisionError") as raised:
            driver.run()
    where = raised.value.where
    assert (where.node, where.key, where.timestamp) == ("join", "b", 3)


def test_execution_by_columns_where_impossible_is_rejected() -> None:
    builder = TopologyBuilder("t", on_error="skip")
    clicks = builder.add_source("clicks", Topic("clicks", TEXT, INT64))
    users = builder.add_table("users", USERS, store=STORE)
    node = builder.join_table("join", clicks, users, left(pair), execution="columns")
    builder.add_sink("out", to_stdout(), node)
    with pytest.raises(TopologyError, match=r"'join' cannot run by columns.*on_error"):
        builder.build()


def test_failing_joiner_names_node_key_and_time() -> None:
    builder = TopologyBuilder("t")
    clicks = builder.add_source("clicks", Topic("clicks", TEXT, INT64))
    users = builder.add_table("users", USERS, store=STORE)

    def fails(number: int, _: str | None) -> int:
        return 1 // (number - 2)

    node = builder.join_table("join", clicks, users, left(fails), execution="columns")
    builder.add_sink("out", Topic("numbers", TEXT, INT64), node)
    with TopologyTestDriver(builder.build()) as driver:
        for number in (1, 2, 3):
            driver.write(CLICKS, f"k{number}", number, timestamp=number)
        with pytest.raises(ProcessingError, match="ZeroDivisionError") as raised:
            driver.run()
    where = raised.value.where
    assert (where.node, where.key, where.timestamp) == ("join", "k2", 2)
    assert (where.topic, where.partition, where.offset) == ("clicks", 0, 1)
