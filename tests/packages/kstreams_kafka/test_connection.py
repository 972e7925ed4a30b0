"""A Kafka cluster used through the connection protocols and by the emitter."""

from __future__ import annotations

import pickle
from datetime import datetime, timezone

import pytest

from devtools.servers.kafka import KafkaBroker
from kstreams import INT64, TEXT, Emitter, Record, Topic
from kstreams.clock import FakeClock
from kstreams.connection import Connection, TopicAdmin
from kstreams.errors import TopicExistsError, UnknownTopicError
from kstreams.partitioner import partition_of
from kstreams_kafka.options import Kafka
from tests.support.kafka.sample_records import read_all, sasl

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]


def test_kafka_connection_creates_lists_and_deletes_topics(
    broker: KafkaBroker, topic_name: str
) -> None:
    connection: Connection = Kafka(broker.bootstrap)
    admin: TopicAdmin = connection.admin()
    admin.create(topic_name, 2, config={"retention.ms": "-1"})
    with pytest.raises(TopicExistsError):
        admin.create(topic_name, 2)
    assert topic_name in admin.topics()
    assert admin.partition_count(topic_name) == 2
    assert admin.beginning_offsets(topic_name) == {0: 0, 1: 0}
    writer = connection.writer()
    writer.write(topic_name, 1, None, b"v", 5_000)
    writer.close()
    assert admin.end_offsets(topic_name) == {0: 0, 1: 1}
    assert admin.offsets_at(topic_name, 5_001) == {0: 0, 1: 1}
    assert admin.offsets_at(topic_name, 5_000) == {0: 0, 1: 0}
    admin.delete(topic_name)
    with pytest.raises(UnknownTopicError):
        admin.partition_count(topic_name)
    admin.close()


def test_pickled_kafka_connection_can_write(broker: KafkaBroker, topic_name: str) -> None:
    broker.create_topic(topic_name)
    again: Kafka = pickle.loads(pickle.dumps(sasl(broker)))
    writer = again.writer()
    assert writer.write(topic_name, 0, b"k", b"v", 1).result(30).offset == 0
    writer.close()


def test_emitted_record_has_event_time_headers_and_partition_of_its_key(
    broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name, 4)
    kafka = Kafka(broker.bootstrap)
    orders = Topic(topic_name, key=TEXT, value=INT64)
    when = datetime(2021, 3, 4, tzinfo=timezone.utc)
    with Emitter(orders, kafka, clock=FakeClock(7_000)) as emitter:
        appended = emitter.emit("ann", 1, timestamp=when, headers=(("h", b"x"),)).result(30)
        emitter.emit("bob", 2)
        assert emitter.emit_many([("ann", 3), Record("eve", 4, 9_000, (("n", None),))]) == 2
    assert appended.partition == partition_of(b"ann", 4)
    found = {r.key: r for r in read_all(kafka, topic_name) if r.timestamp != 7_000}
    assert (found[b"ann"].timestamp, found[b"ann"].headers) == (1_614_816_000_000, (("h", b"x"),))
    assert (found[b"eve"].timestamp, found[b"eve"].headers) == (9_000, (("n", None),))
    for record in read_all(kafka, topic_name):
        assert partition_of(record.key or b"", 4) == record.partition


def test_emit_to_missing_topic_fails_immediately(broker: KafkaBroker, topic_name: str) -> None:
    with pytest.raises(UnknownTopicError):
        Emitter(Topic(topic_name, key=TEXT, value=INT64), Kafka(broker.bootstrap))
