"""Detection of misplaced keys: equal keys of joined sources in different partitions."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import pytest

from kstreams import INT64, TEXT, DeadLetter, FixedKeyProcessor, Record, Topic, TopologyBuilder
from kstreams.durations import seconds
from kstreams.errors import MisplacedKeyError
from kstreams.partitioner import partition_by, partition_of
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.windows import SessionWindows, TumblingWindows, windowed
from tests.support.apps.one_task import OneTask, Raw, queue_of

PARTITIONS = 8
STORE = key_value_store("both", key=TEXT, value=INT64)
NAMES = [f"user-{number}" for number in range(400)]


class Keeps(FixedKeyProcessor[Any, Any, Any]):
    """Keeps the key; does nothing."""

    def process(self, record: Record[Any, Any]) -> None:
        pass


def joined(
    left: Topic[Any, Any] | None = None, right: Topic[Any, Any] | None = None, **options: Any
) -> TopologyBuilder:
    builder = TopologyBuilder("t", **options)
    sources: list[Any] = [
        builder.add_source("left", left or Topic("left", TEXT, INT64)),
        builder.add_source("right", right or Topic("right", TEXT, INT64)),
    ]
    builder.add_processor("meet", Keeps, *sources, stores=[STORE])
    return builder


def task(builder: TopologyBuilder, partition: int = 0, partitions: int = PARTITIONS) -> OneTask:
    return OneTask(builder.build(), partition=partition, partitions=partitions)


def by(rule: Callable[[bytes], int], partition: int = 0) -> list[Raw]:
    """Return rows that a partitioner puts into a partition."""
    return [(name, 1, n) for n, name in enumerate(NAMES) if rule(name.encode()) == partition]


def murmur2(key: bytes) -> int:
    return partition_of(key, PARTITIONS)


def crc32(key: bytes) -> int:
    return zlib.crc32(key) % PARTITIONS


def test_key_placement_check_accepts_keys_of_their_partition_and_null_keys() -> None:
    right: Any = Topic("right", TEXT, INT64, null_keys="pass")
    running = task(joined(right=right), 3)
    rows = by(murmur2, 3)
    running.run(
        queue_of(rows, entry="left", partition=3),
        queue_of([(None, 1, 1), *rows], entry="right", partition=3),
    )


def test_misplaced_key_error_names_key_partition_and_librdkafka_partitioner() -> None:
    rows = by(crc32, 3)
    wrong = next(row for row in rows if murmur2(row[0].encode()) != 3)
    offset = 100 + rows.index(wrong)
    with pytest.raises(MisplacedKeyError) as caught:
        task(joined(), 3).run(
            queue_of(rows, entry="right", partition=3, offsets=range(100, 100 + len(rows)))
        )
    error, where = caught.value, caught.value.where
    assert error.expected == murmur2(wrong[0].encode())
    assert f"belongs to partition {error.expected} by murmur2" in error.message
    assert "so store 'both' would process equal keys in different tasks" in error.message
    assert (where.topic, where.partition, where.offset) == ("right", 3, offset)
    assert (where.node, where.key, where.timestamp) == ("right", wrong[0], wrong[2])
    assert "librdkafka's default partitioner, consistent_random (CRC32)" in error.hint
    assert "partitioner=murmur2_random" in error.hint
    assert "moved = builder.repartition('right-moved', read, key=topic.key" in error.hint


def test_misplaced_key_error_names_partition_count_before_topic_was_enlarged() -> None:
    rows = by(lambda key: partition_of(key, 4), 1)
    with pytest.raises(MisplacedKeyError, match="as if the topic had 4 partitions") as caught:
        task(joined(), 1).run(queue_of(rows, entry="left", partition=1))
    assert "librdkafka" not in caught.value.hint


@pytest.mark.parametrize("key", ["", "user-1"], ids=["empty", "one"])
def test_misplaced_key_error_of_ambiguous_keys_names_usual_reason(key: str) -> None:
    partition = next(p for p in range(8) if p not in (murmur2(key.encode()), crc32(key.encode())))
    with pytest.raises(MisplacedKeyError, match="uses another partitioner") as caught:
        task(joined(), partition).run(queue_of([(key, 1, 1)], entry="left", partition=partition))
    assert "any partition for an empty key" in caught.value.hint
    assert "Topic(partitioner=...)" in caught.value.hint


def test_key_placement_is_checked_only_for_sources_of_joined_records() -> None:
    builder = TopologyBuilder("t")
    left, right = (builder.add_source(name, Topic(name, TEXT, INT64)) for name in ("left", "right"))
    other = key_value_store("other", key=TEXT, value=INT64)
    builder.add_processor("one", Keeps, left, stores=[STORE])
    builder.add_processor("two", Keeps, right, stores=[other])
    builder.merge("stateless", left, right)
    rows = by(crc32)
    task(builder).run(queue_of(rows, entry="left"), queue_of(rows, entry="right"))


def test_key_placement_is_checked_for_source_joined_with_repartition() -> None:
    builder = TopologyBuilder("t")
    left, right = (builder.add_source(name, Topic(name, TEXT, INT64)) for name in ("left", "right"))
    moved = builder.repartition("moved", left, key=TEXT, value=INT64)
    builder.add_processor("meet", Keeps, moved, right, stores=[STORE])
    built = builder.build()
    number = next(n for n, group in enumerate(built.groups) if group.entries)
    running = OneTask(built, group=number, partitions=PARTITIONS)
    with pytest.raises(MisplacedKeyError):
        running.run(queue_of(by(crc32), entry="right"))


@pytest.mark.parametrize("how", ["count", "skip", "dead-letter"])
def test_misplaced_keys_are_counted_and_processed_with_policy_count(how: str) -> None:
    right = Topic("right", TEXT, INT64, misplaced="count") if how == "count" else None
    policy: Any = {"count": "fail", "skip": "skip", "dead-letter": DeadLetter("dead")}[how]
    running = task(joined(right=right, on_error=policy))
    rows = by(crc32)
    wrong = sum(murmur2(key.encode()) != 0 for key, _, _ in rows)
    output = running.run(queue_of(rows, entry="right"))
    assert output.dropped == {"misplaced-key": wrong}
    assert output.records_in == len(rows)
    assert not output.dead_letters


def test_retried_batch_raises_same_misplaced_key_error() -> None:
    errors = []
    for _ in range(2):
        with pytest.raises(MisplacedKeyError) as caught:
            task(joined()).run(queue_of(by(crc32), entry="left"))
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_key_placement_is_checked_by_partitioner_of_topic() -> None:
    rule = partition_by(lambda key, count: zlib.crc32(key) % count, name="crc32")
    topics = [Topic(name, TEXT, INT64, partitioner=rule) for name in ("left", "right")]
    running = task(joined(*topics))
    running.run(queue_of(by(crc32), entry="left"))
    with pytest.raises(MisplacedKeyError, match="by crc32"):
        running.run(queue_of([(key, 1, 1) for key, _, _ in by(murmur2)], entry="right"))


@pytest.mark.parametrize("misplaced", ["fail", "count"])
def test_key_rejected_by_partitioner_counts_as_misplaced(misplaced: Any) -> None:
    rule = partition_by(lambda key, count: int(key) % count, name="number")
    topics = [
        Topic(name, TEXT, INT64, partitioner=rule, misplaced=misplaced)
        for name in ("left", "right")
    ]
    rows: list[Raw] = [("8", 1, 1), ("none", 1, 2), ("9", 1, 3)]
    running = task(joined(*topics))
    if misplaced == "count":
        assert running.run(queue_of(rows, entry="left")).dropped == {"misplaced-key": 2}
        return
    with pytest.raises(MisplacedKeyError, match="but has no partition by number") as caught:
        running.run(queue_of(rows, entry="left"))
    assert caught.value.expected is None
    assert caught.value.where.offset == 1


def test_any_key_is_accepted_by_topic_with_one_partition_and_without_key_check() -> None:
    task(joined(), partitions=1).run(queue_of(by(crc32), entry="left"))
    OneTask(joined().build()).run(queue_of(by(crc32), entry="left"))


def test_windowed_keys_are_placed_by_inner_key() -> None:
    minute = TumblingWindows(seconds(60))
    left: Any = Topic("left", windowed(TEXT, minute), INT64)
    right: Any = Topic("right", windowed(TEXT, SessionWindows(seconds(5))), INT64)
    running = task(joined(left, right), 3)
    tail = (60_000).to_bytes(8, "big")
    rows: list[Raw] = [(key.encode() + tail, 1, 1) for key, _, _ in by(murmur2, 3)]
    running.run(queue_of(rows, entry="left", partition=3))
    whole: list[Raw] = [
        (key, 1, 1) for n in NAMES if partition_of(key := n.encode() + tail, PARTITIONS) == 3
    ]
    with pytest.raises(MisplacedKeyError, match="murmur2-of-inner-key"):
        running.run(queue_of(whole, entry="right", partition=3))
