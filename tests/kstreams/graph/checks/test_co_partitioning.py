"""Inputs joined or merged by key need one key serde and co-partitioned topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kstreams import INT64, NONE, TEXT, Topic, Topology, TopologyBuilder
from kstreams.durations import seconds
from kstreams.errors import PartitionCountError, TopologyError
from kstreams.graph.checks.partitions import partition_counts
from kstreams.partitioner import partition_by
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.windows import SessionWindows, TumblingWindows, windowed
from kstreams_json import json_serde
from tests.support.topologies.word_count import COUNTS, Keeps

JSON = json_serde(str)
OTHER = key_value_store("other", key=TEXT, value=INT64)
CRC32 = partition_by(lambda key, count: len(key) % count, name="crc32")


def sources(b: Any, left: Any, right: Any) -> list[Any]:
    return [
        b.add_source("left", Topic("left", left, INT64)),
        b.add_source("right", Topic("right", right, INT64)),
    ]


def one_node(b: Any) -> None:
    b.add_processor("meet", Keeps, *sources(b, TEXT, JSON), stores=[COUNTS])


def one_store(b: Any) -> None:
    left, right = sources(b, TEXT, JSON)
    b.add_processor("one", Keeps, left, stores=[COUNTS])
    b.add_processor("two", Keeps, b.merge("through", right), stores=[COUNTS])


def a_source_and_an_edge(b: Any) -> None:
    left, right = sources(b, TEXT, JSON)
    moved = b.repartition("moved", left, key=TEXT, value=INT64)
    b.add_processor("meet", Keeps, right, moved, stores=[COUNTS])


def of_other_windows_keys(b: Any) -> None:
    minute = TumblingWindows(seconds(60))
    both = sources(b, windowed(TEXT, minute), windowed(JSON, minute))
    b.add_processor("meet", Keeps, *both, stores=[COUNTS])


def problem_text(one: str, other: str, keys: str = "text and json[str]") -> str:
    return (
        f"records of '{one}' and '{other}' meet in store 'counts', but their keys are {keys}: "
        "equal keys have different bytes, and so different partitions; give both the same key "
        "serde, or put builder.repartition(...) with the key serde of one below the other"
    )


@pytest.mark.parametrize(
    ("wire", "problem"),
    [
        (one_node, problem_text("left", "right")),
        (one_store, problem_text("left", "right")),
        (a_source_and_an_edge, problem_text("right", "moved", "json[str] and text")),
        (of_other_windows_keys, problem_text("left", "right")),
    ],
)
def test_inputs_with_common_store_need_same_key_serde(
    wire: Callable[[Any], None], problem: str
) -> None:
    builder = TopologyBuilder("t")
    wire(builder)
    with pytest.raises(TopologyError) as caught:
        builder.build()
    assert caught.value.problems == (problem,)


def two_stores(b: Any) -> None:
    left, right = sources(b, TEXT, JSON)
    one = b.add_processor("one", Keeps, left, stores=[COUNTS])
    two = b.add_processor("two", Keeps, right, stores=[OTHER])
    b.merge("both", one, two)


def moved_by_the_same(b: Any) -> None:
    left, right = sources(b, TEXT, JSON)
    moved = b.repartition("moved", right, key=TEXT, value=INT64)
    b.add_processor("meet", Keeps, left, moved, stores=[COUNTS])


def made_twice(b: Any) -> None:
    b.add_processor("meet", Keeps, *sources(b, json_serde(str), json_serde(str)), stores=[COUNTS])


def without_keys(b: Any) -> None:
    b.add_processor("meet", Keeps, *sources(b, TEXT, NONE), stores=[COUNTS])


def windows_of_one_key(b: Any) -> None:
    left = windowed(TEXT, TumblingWindows(seconds(60)))
    right = windowed(TEXT, SessionWindows(seconds(5)))
    plain = b.add_source("plain", Topic("plain", TEXT, INT64))
    b.add_processor("meet", Keeps, *sources(b, left, right), plain, stores=[COUNTS])


@pytest.mark.parametrize(
    "wire", [two_stores, moved_by_the_same, made_twice, without_keys, windows_of_one_key]
)
def test_co_partitioned_inputs_are_accepted(wire: Callable[[Any], None]) -> None:
    builder = TopologyBuilder("t")
    wire(builder)
    built = builder.build()
    names = [source.topic.name for source in built.sources]
    assert set(partition_counts(built, dict.fromkeys(names, 3)).tasks.values()) == {3}


def meeting(left: Topic[Any, Any], right: Topic[Any, Any], **edge: Any) -> Topology:
    builder = TopologyBuilder("t")
    both: list[Any] = [builder.add_source("clicks", left), builder.add_source("users", right)]
    if edge:
        both[1] = builder.repartition("moved", both[1], key=TEXT, value=INT64, **edge)
    builder.add_processor("meet", Keeps, *both, stores=[COUNTS])
    return builder.build()


def hint(topology: Topology, counts: Mapping[str, int], records: Any = None) -> str:
    with pytest.raises(PartitionCountError) as caught:
        partition_counts(topology, counts, records)
    return caught.value.hint


CLICKS: Topic[str, int] = Topic("clicks-topic", TEXT, INT64)
USERS: Topic[str, int] = Topic("users-topic", TEXT, INT64)
COUNTS_OF = {"clicks-topic": 4, "users-topic": 12}


def test_unequal_counts_error_names_smaller_topic_and_code_to_add() -> None:
    sizes = {"clicks-topic": 3_000_000, "users-topic": 1_200}
    text = hint(meeting(CLICKS, USERS), COUNTS_OF, sizes.__getitem__)
    assert (
        "Topic 'users-topic' is the smaller side (1,200 records, against 3,000,000 records of "
        "'clicks-topic')" in text
    )
    assert "# topic: the definition of 'users-topic'\n" in text
    assert "read = builder.add_source('users', topic)\n" in text
    assert (
        "moved = builder.repartition('users-moved', read, key=topic.key, value=topic.value)" in text
    )
    assert "Or create the topics with the same partition count." in text


def test_unequal_counts_error_compares_partition_counts_if_topic_sizes_are_unknown() -> None:
    text = hint(meeting(CLICKS, USERS), COUNTS_OF)
    assert "Topic 'clicks-topic' is the smaller side (4 partitions, against 12 partitions" in text


def test_unequal_counts_error_suggests_removing_partitions_of_repartition() -> None:
    text = hint(meeting(CLICKS, USERS, partitions=6), COUNTS_OF)
    assert "Leave partitions=6 out of repartition 'moved': it then gets the 4" in text
    assert "smaller" not in text


def test_error_of_other_partitioner_shows_code_to_add() -> None:
    topic = Topic("clicks-topic", TEXT, INT64, partitioner=CRC32)
    text = hint(meeting(topic, USERS), dict.fromkeys(COUNTS_OF, 2), {"users-topic": 1}.get)
    assert "Topic 'clicks-topic' is the smaller side" in text
    sizes = {"clicks-topic": 10, "users-topic": 5}
    text = hint(meeting(topic, USERS), dict.fromkeys(COUNTS_OF, 2), sizes.__getitem__)
    assert "value=topic.value, partitioner=<that of 'clicks-topic'>)" in text
    text = hint(meeting(topic, USERS, partitions=2), dict.fromkeys(COUNTS_OF, 2))
    assert "Give repartition 'moved' the partitioner of topic 'clicks-topic': crc32." in text
