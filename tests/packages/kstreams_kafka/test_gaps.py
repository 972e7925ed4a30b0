"""Transactions, compaction and broker crashes: planned ranges are read once, completely."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from devtools.servers.kafka import KafkaBroker
from kstreams.batch.planning.planner import BatchPlanner
from kstreams.checkpoint.planning.plans import Plan
from kstreams.ids import TopicPartition
from kstreams_kafka.options import Kafka
from kstreams_kafka.range_reader import OffsetRange, RangeReader
from tests.packages.kstreams_kafka.test_topic_io import planner
from tests.support.kafka.sample_records import fill

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]


@pytest.fixture
def reader(broker: KafkaBroker) -> Iterator[RangeReader]:
    opened = RangeReader(Kafka(broker.bootstrap))
    yield opened
    opened.close()


def transactional(broker: KafkaBroker, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name})
    producer.init_transactions(30)
    return producer


def write(producer: Producer, topic: str, *values: bytes) -> None:
    for value in values:
        producer.produce(topic, value, b"k", 0)
    assert producer.flush(30) == 0


def await_end(plans: BatchPlanner, topic: str, offset: int) -> dict[TopicPartition, int]:
    """Wait for the end offset: the cluster ends a transaction after acknowledging it."""
    deadline = time.monotonic() + 30
    while plans.end() != {TopicPartition(topic, 0): offset}:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return plans.end()


def read(reader: RangeReader, plan: Plan | None) -> list[bytes]:
    """Read the records of a plan, like its tasks."""
    if plan is None:
        return []
    slices = [each for slices in plan.tasks.values() for each in slices]
    ranges = [OffsetRange(s.topic, s.partition, s.from_offset, s.to_offset) for s in slices]
    found: list[bytes] = []
    for table in reader.read(ranges):
        found += table.column("value").to_pylist()
    return found


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "aborted"])
def test_records_of_open_transaction_are_read_after_commit(
    broker: KafkaBroker, topic_name: str, tmp_path: Path, reader: RangeReader, committed: bool
) -> None:
    broker.create_topic(topic_name)
    plain = Producer({"bootstrap.servers": broker.bootstrap})
    write(plain, topic_name, b"before")
    producer = transactional(broker, topic_name)
    producer.begin_transaction()
    write(producer, topic_name, b"one", b"two")
    write(plain, topic_name, b"behind")
    plans = planner(Kafka(broker.bootstrap), tmp_path, topic_name)
    end = plans.end()
    assert end == {TopicPartition(topic_name, 0): 1}
    assert read(reader, plans.next(until=end)) == [b"before"]
    assert plans.reached(end)
    assert plans.next() is None
    if committed:
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)
    await_end(plans, topic_name, 5)
    rest = [b"one", b"two", b"behind"] if committed else [b"behind"]
    assert read(reader, plans.next()) == rest
    assert plans.next() is None


def test_range_of_aborted_records_is_read_as_empty(
    broker: KafkaBroker, topic_name: str, tmp_path: Path, reader: RangeReader
) -> None:
    broker.create_topic(topic_name)
    producer = transactional(broker, topic_name)
    for values in ([b"a", b"b"], [b"c"]):
        producer.begin_transaction()
        write(producer, topic_name, *values)
        producer.abort_transaction(30)
    plans = planner(Kafka(broker.bootstrap), tmp_path, topic_name, most=2)
    end = await_end(plans, topic_name, 5)
    while not plans.reached(end):
        assert read(reader, plans.next()) == []


def test_each_range_of_compacted_topic_returns_its_remaining_records(
    broker: KafkaBroker, topic_name: str, reader: RangeReader
) -> None:
    config = {
        "cleanup.policy": "compact",
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.01",
        "max.compaction.lag.ms": "100",
        "delete.retention.ms": "0",
    }
    broker.create_topic(topic_name, config=config)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    end = 0
    left: list[int] = []
    deadline = time.monotonic() + 120
    while not left or len(left) > end - 30:  # until the log cleaner has compacted the topic
        assert time.monotonic() < deadline, f"{len(left)} of {end} are left"
        for n in range(40):
            producer.produce(topic_name, b"%d" % n, b"key-%d" % (n % 4), 0)
        assert producer.flush(30) == 0
        end += 40
        time.sleep(0.3)
        (table,) = reader.read([OffsetRange(topic_name, 0, 0, end)])
        left = table.column("offset").to_pylist()
    found: list[int] = []
    for start in range(0, end, 7):
        stop = min(start + 7, end)
        (table,) = reader.read([OffsetRange(topic_name, 0, start, stop)])
        offsets = table.column("offset").to_pylist()
        assert all(start <= offset < stop for offset in offsets)
        found += offsets
    assert found == sorted(set(found))
    assert set(found) <= set(left)
    assert end - 1 in found


def test_read_from_broker_that_is_killed_and_restarted_loses_nothing(
    tmp_path: Path,
) -> None:
    count = 400_000
    with KafkaBroker(tmp_path / "broker") as own:
        own.create_topic("topic")
        kafka = Kafka(own.bootstrap, consumer={"fetch.message.max.bytes": 10_000})
        fill(kafka, "topic", 0, count)
        reader = RangeReader(kafka)
        try:
            reader.read([OffsetRange("topic", 0, 0, 10)])  # the client is connected
            died = threading.Event()

            def restart() -> None:
                own.kill()
                died.set()
                own.start()

            timer = threading.Timer(0.05, restart)
            timer.start()
            (table,) = reader.read([OffsetRange("topic", 0, 10, count)])
            assert died.is_set()
            timer.join()
        finally:
            reader.close()
    assert table.column("offset").to_pylist() == list(range(10, count))
