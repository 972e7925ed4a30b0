"""Offset ranges are read completely, in order and once, from any previous position."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from devtools.servers.kafka import KafkaBroker
from kstreams.errors import (
    BrokerUnavailableError,
    DataLossError,
    KafkaOptionsError,
    UnknownTopicError,
)
from kstreams.raw_batch import INPUT_SCHEMA, TooManyBytesError
from kstreams_kafka import range_reader
from kstreams_kafka.options import Kafka
from kstreams_kafka.range_reader import OffsetRange, RangeReader
from tests.support.kafka.sample_records import fill, sasl

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("each_way"),
]


@pytest.fixture
def reader(broker: KafkaBroker) -> Iterator[RangeReader]:
    opened = RangeReader(Kafka(broker.bootstrap))
    yield opened
    opened.close()


def offsets(reader: RangeReader, *ranges: OffsetRange) -> list[list[int]]:
    return [table.column("offset").to_pylist() for table in reader.read(ranges)]


def test_records_are_read_with_all_fields(
    broker: KafkaBroker, reader: RangeReader, topic_name: str
) -> None:
    broker.create_topic(topic_name)
    fill(Kafka(broker.bootstrap), topic_name, 0, 36)
    (table,) = reader.read([OffsetRange(topic_name, 0, 0, 36)])
    assert table.schema == INPUT_SCHEMA
    assert table.to_pydict() == {
        "offset": list(range(36)),
        "timestamp": [1_000 + n for n in range(36)],
        "key": [None if n % 5 == 0 else b"k%d" % n for n in range(36)],
        "value": [None if n % 7 == 0 else b"v%d" % n for n in range(36)],
        "headers": [
            [{"key": "n", "value": b"%d" % n}, {"key": "null", "value": None}]
            if n % 3 == 0
            else None
            for n in range(36)
        ],
    }


def test_consecutive_batches_are_read_in_every_partition(
    broker: KafkaBroker, reader: RangeReader, topic_name: str
) -> None:
    topics = [broker.create_topic(f"{topic_name}-{n}", 2) for n in range(2)]
    kafka = Kafka(broker.bootstrap)
    for topic in topics:
        fill(kafka, topic, 0, 25_000)
        fill(kafka, topic, 1, 300)
    found: dict[tuple[str, int], list[int]] = {}
    for start in range(0, 25_000, 5_000):
        ranges = [OffsetRange(topic, 0, start, start + 5_000) for topic in topics]
        ranges += [OffsetRange(t, 1, start * 3 // 250, start * 3 // 250 + 60) for t in topics]
        for asked, got in zip(ranges, offsets(reader, *ranges), strict=True):
            assert got == list(range(asked.start, asked.end))
            found.setdefault((asked.topic, asked.partition), []).extend(got)
    for topic in topics:
        assert found[topic, 0] == list(range(25_000))
        assert found[topic, 1] == list(range(300))


def test_ranges_of_partition_can_be_read_in_any_order(
    broker: KafkaBroker, reader: RangeReader, topic_name: str
) -> None:
    broker.create_topic(topic_name, 3)
    for partition in range(3):
        fill(Kafka(broker.bootstrap), topic_name, partition, 100)
    first = OffsetRange(topic_name, 0, 10, 20)
    assert offsets(reader, first) == [list(range(10, 20))]
    assert offsets(reader, first) == [list(range(10, 20))]
    for ranges in (
        [(0, 20, 30), (1, 0, 5)],
        [(1, 5, 100), (0, 90, 100)],
        [(2, 50, 51)],
        [(2, 51, 60), (0, 0, 100), (1, 99, 100)],
    ):
        asked = [OffsetRange(topic_name, *each) for each in ranges]
        assert offsets(reader, *asked) == [list(range(each.start, each.end)) for each in asked]
    assert reader.read([]) == []


def test_reader_pauses_partition_read_far_ahead_of_others(
    broker: KafkaBroker,
    reader: RangeReader,
    topic_name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(range_reader, "_MOST_AHEAD", 10)
    broker.create_topic(topic_name, 2)
    for partition in range(2):
        fill(Kafka(broker.bootstrap), topic_name, partition, 60_000)
    for first, other in (
        ((0, 5), (0, 30_000)),
        ((5, 6), (30_000, 59_000)),
        ((6, 20_000), (59_000, 59_001)),
        ((20_000, 60_000), (59_001, 60_000)),
    ):
        asked = [OffsetRange(topic_name, 0, *first), OffsetRange(topic_name, 1, *other)]
        assert offsets(reader, *asked) == [list(range(each.start, each.end)) for each in asked]


@pytest.mark.long
def test_reading_ahead_does_not_change_results(
    broker: KafkaBroker, reader: RangeReader, topic_name: str
) -> None:
    broker.create_topic(topic_name, 2)
    for partition in range(2):
        fill(Kafka(broker.bootstrap), topic_name, partition, 20_000)
    chance, starts = Random(7), [0, 0]
    for number in range(30):
        if number % 7 == 0:
            starts = [chance.randrange(10_000), chance.randrange(10_000)]
        ends = [start + chance.choice((1, 50, 1_400)) for start in starts]
        asked = [OffsetRange(topic_name, p, starts[p], ends[p]) for p in range(2)]
        assert offsets(reader, *asked) == [list(range(each.start, each.end)) for each in asked]
        starts = ends
        reader.read_ahead()
        time.sleep(chance.choice((0, 0.001, 0.03)))


def read_ahead(reader: RangeReader) -> None:
    """Let the reader read ahead as far as its limit."""
    reader.read_ahead()
    assert reader._ahead is not None
    reader._ahead.join()


def test_records_read_ahead_are_available_after_deletion(
    broker: KafkaBroker, reader: RangeReader, topic_name: str
) -> None:
    broker.create_topic(topic_name)
    fill(Kafka(broker.bootstrap), topic_name, 0, 100)
    assert offsets(reader, OffsetRange(topic_name, 0, 0, 30)) == [list(range(30))]
    read_ahead(reader)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.delete_records([TopicPartition(topic_name, 0, 60)]).values():
        future.result(30)
    assert offsets(reader, OffsetRange(topic_name, 0, 30, 60)) == [list(range(30, 60))]


def test_failure_while_reading_ahead_is_retried(
    broker: KafkaBroker,
    reader: RangeReader,
    topic_name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker.create_topic(topic_name)
    fill(Kafka(broker.bootstrap), topic_name, 0, 100)
    assert offsets(reader, OffsetRange(topic_name, 0, 0, 10)) == [list(range(10))]
    with monkeypatch.context() as patch:
        patch.setattr(reader, "_pause", lambda *_: 1 / 0)
        read_ahead(reader)
    assert offsets(reader, OffsetRange(topic_name, 0, 10, 100)) == [list(range(10, 100))]


def test_read_continues_with_new_consumer_if_consumer_stops_fetching(
    broker: KafkaBroker,
    reader: RangeReader,
    topic_name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Librdkafka can stop fetching after leader changes; a paused partition looks the same."""
    monkeypatch.setattr(range_reader, "_STALLED_S", 0.3)
    broker.create_topic(topic_name, 2)
    for partition in range(2):
        fill(Kafka(broker.bootstrap), topic_name, partition, 20_000)
    asked = [OffsetRange(topic_name, partition, 0, 10) for partition in range(2)]
    assert offsets(reader, *asked) == [list(range(10))] * 2
    assert reader._consumer is not None
    reader._consumer.pause([(topic_name, 0)])
    asked = [OffsetRange(topic_name, partition, 10, 20_000) for partition in range(2)]
    assert offsets(reader, *asked) == [list(range(10, 20_000))] * 2


def test_records_appended_later_are_read_later(
    broker: KafkaBroker, reader: RangeReader, topic_name: str
) -> None:
    broker.create_topic(topic_name)
    for start in range(0, 40, 10):
        fill(Kafka(broker.bootstrap), topic_name, 0, 10)
        asked = OffsetRange(topic_name, 0, start, start + 10)
        assert offsets(reader, asked) == [list(range(start, start + 10))]


def _transactions(broker: KafkaBroker, topic: str, *values: bytes) -> None:
    """Append one record per transaction and abort those of `aborted`; each ends with a marker."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic})
    producer.init_transactions(30)
    for value in values:
        producer.begin_transaction()
        producer.produce(topic, value)
        if value == b"aborted":
            assert producer.flush(30) == 0
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)


def test_offsets_without_records_are_skipped(
    broker: KafkaBroker, reader: RangeReader, topic_name: str
) -> None:
    broker.create_topic(topic_name)
    _transactions(broker, topic_name, b"one", b"aborted", b"two")
    (end,) = Kafka(broker.bootstrap).admin().end_offsets(topic_name).values()
    assert end == 6  # each transaction has a record and a marker
    found: list[Any] = []
    for start in range(end):  # a range may hold no record, also at the end of the topic
        (table,) = reader.read([OffsetRange(topic_name, 0, start, start + 1)])
        found += table.column("value").to_pylist()
    assert found == [b"one", b"two"]
    (table,) = reader.read([OffsetRange(topic_name, 0, 0, end)])
    assert table.column("value").to_pylist() == [b"one", b"two"]


def test_read_of_deleted_records_raises_data_loss_error(
    broker: KafkaBroker, reader: RangeReader, topic_name: str
) -> None:
    broker.create_topic(topic_name, 2)
    fill(Kafka(broker.bootstrap), topic_name, 1, 20)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.delete_records([TopicPartition(topic_name, 1, 15)]).values():
        future.result(30)
    with pytest.raises(DataLossError, match="deleted before they were read") as caught:
        reader.read([OffsetRange(topic_name, 1, 10, 20)])
    where = caught.value.where
    assert (where.topic, where.partition, where.offset) == (topic_name, 1, 10)
    assert offsets(reader, OffsetRange(topic_name, 1, 15, 20)) == [list(range(15, 20))]


def test_read_of_truncated_partition_raises_data_loss_error(
    broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name)
    fill(Kafka(broker.bootstrap), topic_name, 0, 3)
    reader = RangeReader(Kafka(broker.bootstrap), timeout=timedelta(seconds=3))
    with pytest.raises(DataLossError, match="ends at offset 3, expected records before"):
        reader.read([OffsetRange(topic_name, 0, 0, 5)])


def test_deleted_topic_raises_unknown_topic_error(broker: KafkaBroker, topic_name: str) -> None:
    options = {"topic.metadata.propagation.max.ms": "100"}
    reader = RangeReader(Kafka(broker.bootstrap, consumer=options), timeout=timedelta(seconds=3))
    with pytest.raises(UnknownTopicError, match="does not exist any more"):
        reader.read([OffsetRange(topic_name, 0, 0, 5)])


def test_error_of_silent_broker_names_it() -> None:
    reader = RangeReader(Kafka("127.0.0.1:9"), timeout=timedelta(seconds=1))
    with pytest.raises(BrokerUnavailableError, match=r"127\.0\.0\.1:9"):
        reader.read([OffsetRange("t", 0, 0, 5)])


def test_unknown_option_raises_options_error(broker: KafkaBroker) -> None:
    kafka = Kafka(broker.bootstrap, consumer={"no.such.option": "1"})
    with pytest.raises(KafkaOptionsError, match=r"no\.such\.option"):
        RangeReader(kafka).read([OffsetRange("t", 0, 0, 5)])


def test_range_reader_reads_from_sasl_listener(broker: KafkaBroker, topic_name: str) -> None:
    broker.create_topic(topic_name)
    kafka = sasl(broker, "SCRAM-SHA-256")
    fill(kafka, topic_name, 0, 5)
    reader = RangeReader(kafka)
    assert offsets(reader, OffsetRange(topic_name, 0, 0, 5)) == [list(range(5))]
    reader.close()


def test_read_stops_at_byte_limit(
    broker: KafkaBroker, reader: RangeReader, topic_name: str
) -> None:
    broker.create_topic(topic_name, 2)
    writer = Kafka(broker.bootstrap).writer()
    for n in range(600):
        writer.enqueue(topic_name, n % 2, b"k", bytes(10_000), 1_000 + n)
    writer.close()
    ranges = [OffsetRange(topic_name, p, 0, 300) for p in range(2)]
    with pytest.raises(TooManyBytesError) as caught:
        reader.read(ranges, max_bytes=500_000)
    held = sum(size for _, size in caught.value.sizes.values())
    offsets_read = sum(count for count, _ in caught.value.sizes.values())
    assert held > 500_000
    assert held / offsets_read == pytest.approx(10_000, rel=0.01)
    parts = [OffsetRange(topic_name, p, 0, 20) for p in range(2)]
    tables = reader.read(parts, max_bytes=500_000)
    assert [table.column("offset").to_pylist() for table in tables] == [list(range(20))] * 2
    parts = [OffsetRange(topic_name, p, 20, 45) for p in range(2)]
    with pytest.raises(TooManyBytesError):
        reader.read(parts, max_bytes=400_000)
    tables = reader.read(parts, max_bytes=600_000)
    assert [table.column("offset").to_pylist() for table in tables] == [list(range(20, 45))] * 2


def test_at_least_one_record_is_read_however_large(
    broker: KafkaBroker, reader: RangeReader, topic_name: str
) -> None:
    broker.create_topic(topic_name)
    writer = Kafka(broker.bootstrap).writer()
    for n in range(3):
        writer.enqueue(topic_name, 0, b"k", bytes(100_000), 1_000 + n)
    writer.close()
    with pytest.raises(TooManyBytesError):
        reader.read([OffsetRange(topic_name, 0, 0, 3)], max_bytes=1_000)
    for n in range(3):
        (table,) = reader.read([OffsetRange(topic_name, 0, n, n + 1)], max_bytes=1_000)
        assert table.column("offset").to_pylist() == [n]
