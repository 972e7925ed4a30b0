"""Joined sides must be co-partitioned; the advice in the error message works."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from kstreams import (
    INT64,
    TEXT,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    TopologyBuilder,
    aggregate,
    rekey,
    timestamped_store,
)
from kstreams.aggregators import count
from kstreams.durations import minutes
from kstreams.emit import each_update
from kstreams.errors import MisplacedKeyError, PartitionCountError, TopologyError
from kstreams.joins import JoinProcessor, inner, left
from kstreams.partitioner import partition_of
from kstreams.stores import window_store
from kstreams.testing import TopologyTestDriver
from kstreams.windows import TumblingWindows, Windowed, windowed, windowed_aggregate
from kstreams_json import json_serde

CLICKS = Topic("clicks", TEXT, INT64)
USERS = Topic("users", TEXT, TEXT)
NAMED = Topic("named", TEXT, TEXT)
STORE = timestamped_store("users", key=TEXT, value=TEXT)
NAMES = [f"user-{number}" for number in range(40)]


class Both(JoinProcessor[str, int, str, str, str]):
    """A join without state."""

    def process_left(self, record: Record[str, int]) -> None:
        pass

    def process_right(self, record: Record[str, str]) -> None:
        pass


class Reads(FixedKeyProcessor[str, int, str]):
    """Looks up a user in a table."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        self.context, self.users = context, context.reader(STORE)

    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record.with_value(self.users.get(record.key) or ""))


def enriched(users: Topic[str, str] = USERS, clicks: Topic[str, int] = CLICKS) -> TopologyBuilder:
    builder = TopologyBuilder("enriched")
    table = builder.add_table("users", users, store=STORE)
    source = builder.add_source("clicks", clicks)
    joined = builder.join_table("named", source, table, left(lambda _, name: name or "nobody"))
    builder.add_sink("out", NAMED, joined)
    return builder


def problems(builder: TopologyBuilder) -> tuple[str, ...]:
    with pytest.raises(TopologyError) as caught:
        builder.build()
    return caught.value.problems


def crc32(key: str, partitions: int) -> int:
    return zlib.crc32(key.encode()) % partitions


# ------------------------------------------------------------------ bytes of keys


def test_table_with_other_key_serde_is_rejected() -> None:
    (problem,) = problems(enriched(Topic("users", json_serde(str), TEXT)))
    assert "records of 'clicks' and 'users.source' meet in join 'named'" in problem
    assert "their keys are text and json[str]" in problem


@pytest.mark.parametrize("how", ["reads", "add_join"])
def test_readers_and_custom_joins_with_other_key_serde_are_rejected(how: str) -> None:
    builder = TopologyBuilder("t")
    clicks = builder.add_source("clicks", Topic("clicks", json_serde(str), INT64))
    if how == "reads":
        builder.add_table("users", USERS, store=STORE)
        builder.add_processor("own", Reads, clicks, reads=[STORE])
    else:
        builder.add_join("own", Both, clicks, builder.add_source("users", USERS))
    (problem,) = problems(builder)
    assert "their keys are " in problem


# ------------------------------------------------------------------ keys that change above


@pytest.mark.parametrize(
    ("how", "expected_text"),
    [
        ("left", "node 'x' is a join, but 'moved' above it may change the key"),
        ("right", "node 'x' is a join, but 'moved' above it may change the key"),
        ("own", "node 'x' is a join, but 'moved' above it may change the key"),
        ("to_table", "node 'x' makes a table, but 'moved' above it may change the key"),
        ("aggregate", "node 'x' makes a table, but 'moved' above it may change the key"),
        ("reads", "node 'x' reads a table, but 'moved' above it may change the key"),
    ],
)
def test_changed_key_before_join_or_table_needs_repartition(how: str, expected_text: str) -> None:
    builder = TopologyBuilder("t")
    clicks = builder.add_source("clicks", CLICKS)
    table = builder.add_table("users", USERS, store=STORE)
    moved = builder.add_processor("moved", rekey(lambda _, number: str(number)), clicks)
    other = timestamped_store("other", key=TEXT, value=INT64)
    match how:
        case "left":
            builder.join_table("x", moved, table, inner(lambda number, name: name))
        case "right":
            texts = builder.to_stream("s", table)
            lost: Any = builder.add_processor("moved2", rekey(lambda _, v: str(v)), texts)
            builder.add_join("x", Both, clicks, lost)
            expected_text = expected_text.replace("'moved'", "'moved2'")
        case "own":
            builder.add_join("x", Both, moved, builder.add_source("names", NAMED))
        case "to_table":
            builder.to_table("x", moved, store=other)
        case "aggregate":
            builder.aggregate_table("x", aggregate(count(), store=other), moved)
        case _:
            builder.add_processor("x", Reads, moved, reads=[STORE])
    assert [problem for problem in problems(builder) if expected_text in problem]


# ------------------------------------------------------------------ topics that do not fit


def test_code_advised_for_unequal_partition_counts_makes_join_work() -> None:
    sizes = {"clicks": 3, "users": 2}
    with pytest.raises(PartitionCountError) as caught:
        TopologyTestDriver(enriched().build(), partitions=sizes)
    advised = [line[2:] for line in caught.value.hint.splitlines() if line.startswith("  ")]
    assert advised == [
        "# topic: the definition of 'users', with nulls='pass'",
        "read = builder.add_source('users.source', topic)",
        (
            "moved = builder.repartition('users-moved', read, key=topic.key, value=topic.value, "
            "nulls='pass')"
        ),
        "table = builder.to_table('users', moved, store=store)",
    ]
    builder = TopologyBuilder("mended")
    topic: Topic[str, str | None] = Topic("users", TEXT, TEXT, nulls="pass")
    read = builder.add_source("users.source", topic)
    moved = builder.repartition("users-moved", read, key=topic.key, value=topic.value, nulls="pass")
    table = builder.to_table("users", moved, store=STORE)
    clicks = builder.add_source("clicks", CLICKS)
    joined = builder.join_table("named", clicks, table, left(lambda _, name: name or "-"))
    builder.add_sink("out", NAMED, joined)
    with TopologyTestDriver(builder.build(), partitions=sizes) as driver:
        driver.pipe_batch(USERS, [Record(name, name.upper()) for name in NAMES])
        driver.write_bytes("users", NAMES[0].encode(), None, timestamp=1)
        driver.run()
        driver.pipe_batch(CLICKS, [Record(name, 1, 2) for name in NAMES])
        found = driver.read_values(NAMED)
    assert found == {**{name: name.upper() for name in NAMES}, NAMES[0]: "-"}


# ------------------------------------------------------------------ keys that lie elsewhere


def test_table_keys_partitioned_by_librdkafka_default_raise_misplaced_key_error() -> None:
    with TopologyTestDriver(enriched().build(), partitions=4) as driver:
        for name in NAMES:
            driver.write(USERS, name, name.upper(), partition=crc32(name, 4))
        with pytest.raises(MisplacedKeyError) as caught:
            driver.run()
    assert "so join 'named' would process equal keys in different tasks" in caught.value.message
    assert "consistent_random (CRC32)" in caught.value.hint
    assert "table = builder.to_table('users', moved, store=store)" in caught.value.hint
    assert caught.value.where.topic == "users"


def test_key_check_of_table_can_be_disabled() -> None:
    users = Topic("users", TEXT, TEXT, misplaced="count")
    with TopologyTestDriver(enriched(users).build(), partitions=4) as driver:
        for name in NAMES:
            driver.write(users, name, name.upper(), partition=crc32(name, 4))
        driver.run()
        wrong = [n for n in NAMES if crc32(n, 4) != partition_of(n.encode(), 4)]
        assert driver.dropped == {"misplaced-key": len(wrong)}
        driver.pipe_batch(CLICKS, [Record(name, 1) for name in NAMES])
        found = driver.read_values(NAMED)
    assert {name for name, value in found.items() if value == "nobody"} == set(wrong)


def test_driver_with_check_keys_false_accepts_misplaced_keys() -> None:
    with TopologyTestDriver(enriched().build(), partitions=4, check_keys=False) as driver:
        for name in NAMES:
            driver.write(USERS, name, name.upper(), partition=crc32(name, 4))
        driver.run()
        assert driver.dropped == {}


# ------------------------------------------------------------------ windowed keys


def test_windowed_tables_are_partitioned_by_inner_key_and_can_be_joined() -> None:
    minute = TumblingWindows(minutes(1))
    key = windowed(TEXT, minute)
    totals: Topic[Windowed[str], int] = Topic("totals", key, INT64)
    results = Topic("results", key, INT64, nulls="pass")
    builder = TopologyBuilder("windows")
    store = window_store("per-minute", key=TEXT, value=INT64)
    clicks = builder.add_source("clicks", CLICKS)
    counts = builder.add_processor("n", windowed_aggregate(minute, count(), store=store), clicks)
    own = builder.to_table("own", counts, store=timestamped_store("own", key=key, value=INT64))
    given = builder.add_table("totals", totals, store=timestamped_store("t", key=key, value=INT64))
    both = builder.join_tables("both", own, given, inner(lambda mine, theirs: mine * theirs))
    builder.add_sink("out", results, builder.to_stream("each", both, emit=each_update()))
    with TopologyTestDriver(builder.build(), partitions=4) as driver:
        for time in (0, 60_000):
            for name in NAMES:
                driver.write(totals, Windowed(name, time, time + 60_000), 10, timestamp=time)
                driver.write(CLICKS, name, 1, timestamp=time)
        driver.run()
        found = driver.read_values(results)
        rows = driver.read_rows("totals")
    assert found == {Windowed(n, t, t + 60_000): 10 for n in NAMES for t in (0, 60_000)}
    assert all(row.partition == partition_of((row.key or b"")[:-8], 4) for row in rows)


def test_windowed_keys_hashed_with_their_window_are_misplaced() -> None:
    minute = TumblingWindows(minutes(1))
    key = windowed(TEXT, minute)
    totals: Topic[Windowed[str], int] = Topic("totals", key, INT64)
    other: Topic[Windowed[str], int] = Topic("other", key, INT64)
    builder = TopologyBuilder("windows")
    one, two = (
        builder.add_table(
            topic.name, topic, store=timestamped_store(topic.name, key=key, value=INT64)
        )
        for topic in (totals, other)
    )
    builder.join_tables("both", one, two, inner(lambda mine, theirs: mine * theirs))
    with TopologyTestDriver(builder.build(), partitions=4) as driver:
        for name in NAMES:
            own = Windowed(name, 60_000, 120_000)
            whole = partition_of(key.serialize(own), 4)
            driver.write(totals, own, 10, partition=whole)
        with pytest.raises(MisplacedKeyError, match="murmur2-of-inner-key"):
            driver.run()


# ------------------------------------------------------------------ deletions


@pytest.mark.parametrize("nulls", ["drop", "pass"])
def test_table_topic_deletes_on_null_whatever_its_nulls_option(nulls: Any) -> None:
    users: Any = Topic("users", TEXT, TEXT, nulls=nulls)
    with TopologyTestDriver(enriched(users).build(), partitions=2) as driver:
        driver.pipe(users, "user-1", "Ann", timestamp=1)
        driver.pipe(CLICKS, "user-1", 1, timestamp=2)
        driver.write_bytes("users", b"user-1", None, timestamp=3)
        driver.run()
        driver.pipe(CLICKS, "user-1", 1, timestamp=4)
        assert [record.value for record in driver.read(NAMED)] == ["Ann", "nobody"]
        assert driver.store_contents(STORE) == {}
        assert driver.dropped == {}
