"""Numbers of tasks, and topics that need equal partition counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kstreams import INT64, NONE, TEXT, Topic, Topology, TopologyBuilder, map_, timestamped_store
from kstreams.errors import PartitionCountError
from kstreams.graph.checks.partitions import PartitionCounts, Uneven, partition_counts
from kstreams.joins import inner
from kstreams.partitioner import partition_by
from kstreams.testing import TopologyTestDriver
from tests.support.spark.bench import WORDS, Count
from tests.support.topologies.word_count import COUNTS, Changes, Keeps

SMALL = Topic("small", TEXT, INT64)
LARGE = Topic("large", TEXT, INT64)
OUT = Topic("out", TEXT, INT64)
COUNTS_OF = {"small": 2, "large": 5}


def built(wire: Callable[[TopologyBuilder, Any, Any], None]) -> Topology:
    builder = TopologyBuilder("t")
    small, large = builder.add_source("s", SMALL), builder.add_source("l", LARGE)
    wire(builder, small, large)
    return builder.build()


def counted(wire: Callable[[TopologyBuilder, Any, Any], None]) -> PartitionCounts:
    return partition_counts(built(wire), COUNTS_OF)


def merge(b: TopologyBuilder, small: Any, large: Any) -> None:
    b.add_sink("out", OUT, b.merge("both", small, large))


def sink_of_two(b: TopologyBuilder, small: Any, large: Any) -> None:
    b.add_sink("out", OUT, small, large)


def below_a_repartition(b: TopologyBuilder, small: Any, large: Any) -> None:
    changed = b.add_processor("changed", Changes, b.merge("both", small, large))
    moved = b.repartition("moved", changed, key=TEXT, value=INT64)
    b.add_sink("out", OUT, b.add_processor("count", Keeps, moved, stores=[COUNTS]))


@pytest.mark.parametrize("wire", [merge, sink_of_two])
def test_group_without_state_has_as_many_tasks_as_its_largest_topic(
    wire: Callable[[TopologyBuilder, Any, Any], None],
) -> None:
    assert counted(wire) == PartitionCounts({"s": 5}, Uneven({"s": 2}))


def test_group_after_repartition_of_merge_has_as_many_tasks_as_group_before() -> None:
    assert counted(below_a_repartition).tasks == {"s": 5, "moved": 5}


def test_store_of_one_branch_has_partition_count_of_topic_of_that_branch() -> None:
    def wire(b: TopologyBuilder, small: Any, large: Any) -> None:
        b.add_sink("out", OUT, b.add_processor("n", Keeps, small, stores=[COUNTS]), large)

    assert counted(wire) == PartitionCounts({"s": 5}, Uneven({"s": 2}, {"counts": 2}))


def test_repartition_joined_with_small_topic_has_partition_count_of_that_topic() -> None:
    def wire(b: TopologyBuilder, small: Any, large: Any) -> None:
        other = b.add_source("other", Topic("other", TEXT, INT64))
        moved = b.repartition("moved", other, key=TEXT, value=INT64)
        b.add_sink("out", OUT, b.add_processor("n", Keeps, small, moved, stores=[COUNTS]), large)

    found = partition_counts(built(wire), {**COUNTS_OF, "other": 7})
    assert found.tasks == {"s": 5, "other": 7}
    assert found.uneven == Uneven({"s": 2, "moved": 2}, {"counts": 2})


def store_below_a_merge(b: TopologyBuilder, small: Any, large: Any) -> None:
    b.add_processor("meet", Keeps, b.merge("both", small, large), stores=[COUNTS])


def one_store_of_two_nodes(b: TopologyBuilder, small: Any, large: Any) -> None:
    b.add_processor("one", Keeps, small, stores=[COUNTS])
    b.add_processor("two", Keeps, large, stores=[COUNTS])


@pytest.mark.parametrize(
    ("wire", "expected_text"),
    [
        (store_below_a_merge, "node 'meet' (store 'counts') needs co-partitioning"),
        (one_store_of_two_nodes, "nodes 'one', 'two' (store 'counts') need co-partitioning"),
    ],
)
def test_error_of_unequal_partition_counts_names_nodes_that_use_the_store(
    wire: Callable[[TopologyBuilder, Any, Any], None], expected_text: str
) -> None:
    with pytest.raises(PartitionCountError) as caught:
        counted(wire)
    assert expected_text in caught.value.message
    assert "topic 'small' has 2, topic 'large' has 5" in caught.value.message
    assert "Topic 'small' is the smaller side" in caught.value.hint


def test_error_of_join_of_topics_with_unequal_partition_counts_names_join() -> None:
    builder = TopologyBuilder("t")
    store = timestamped_store("rows", key=TEXT, value=INT64)
    joiner: Any = inner(lambda one, _: one)
    table = builder.add_table("rows", Topic("small", TEXT, INT64, nulls="pass"), store=store)
    joined = builder.join_table("joined", builder.add_source("l", LARGE), table, joiner)
    builder.add_sink("out", OUT, joined)
    with pytest.raises(PartitionCountError, match=r"nodes 'joined', 'rows'.* need co-partitioning"):
        partition_counts(builder.build(), COUNTS_OF)


def test_store_after_topics_without_keys_needs_equal_partition_counts() -> None:
    builder = TopologyBuilder("t")
    both = [
        builder.add_source(name, Topic(topic, NONE, INT64))
        for name, topic in (("s", "small"), ("l", "large"))
    ]
    builder.add_processor("meet", Keeps, *both, stores=[COUNTS])
    with pytest.raises(PartitionCountError, match="node 'meet'"):
        partition_counts(builder.build(), COUNTS_OF)


def test_partitioners_of_inputs_without_common_state_may_differ() -> None:
    builder = TopologyBuilder("t")
    other = Topic("large", TEXT, INT64, partitioner=partition_by(lambda k, n: len(k) % n, name="n"))
    small, large = builder.add_source("s", SMALL), builder.add_source("l", other)
    builder.add_sink("out", OUT, builder.add_processor("n", Keeps, small, stores=[COUNTS]), large)
    assert partition_counts(builder.build(), COUNTS_OF).tasks == {"s": 5}


def test_driver_reads_each_partition_of_topics_of_unequal_counts() -> None:
    with TopologyTestDriver(built(merge), partitions=COUNTS_OF) as driver:
        for partition in range(2):
            driver.pipe(SMALL, "s", partition, partition=partition)
        for partition in range(5):
            driver.pipe(LARGE, "l", partition, partition=partition)
        found = [(record.key, record.value) for record in driver.read(OUT)]
    assert found == [("s", 0), ("s", 1), *(("l", n) for n in range(5))]


def test_driver_counts_keys_of_a_topic_merged_with_a_topic_of_more_partitions() -> None:
    builder = TopologyBuilder("t")
    totals = builder.add_processor("count", Count, builder.add_source("w", WORDS), stores=[COUNTS])
    builder.add_sink("out", OUT, totals, builder.add_source("l", LARGE))
    words = [f"word-{number % 7}" for number in range(28)]
    with TopologyTestDriver(builder.build(), partitions={"words": 2, "large": 5}) as driver:
        for word in words:
            driver.pipe(WORDS, word, "")
        driver.pipe(LARGE, "x", 1, partition=4)
        assert driver.store_contents(COUNTS) == dict.fromkeys(set(words), 4)
        assert driver.store(COUNTS, 1) is not None
        with pytest.raises(Exception, match="2 partitions"):
            driver.store(COUNTS)
        assert driver.read_values(OUT) == {**dict.fromkeys(set(words), 4), "x": 1}


def test_map_before_merge_accepts_unequal_partition_counts() -> None:
    def wire(b: TopologyBuilder, small: Any, large: Any) -> None:
        keyed = b.add_processor("keyed", map_(lambda k, v: (k, v)), small)
        b.add_sink("out", OUT, b.merge("both", keyed, large))

    assert counted(wire).tasks == {"s": 5}
