"""Limits of Kafka topics, from their configuration, before and after a write."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from devtools.servers.kafka import KafkaBroker
from kstreams import BYTES, DeadLetter, Topic, TopologyBuilder
from kstreams.batch.io.topic_io import BatchId
from kstreams.clock import SystemClock
from kstreams.errors import RecordRefusedError, UnknownTopicError
from kstreams.graph.topology import PartitionGroup
from kstreams.partitioner import Murmur2Partitioner
from kstreams.task.output.outputs import TaskOutput
from kstreams.topic_limits import TopicLimits
from kstreams_kafka.options import Kafka
from kstreams_kafka.partition_counts import PartitionCounts
from kstreams_kafka.sink import topic_limits, write_apart, write_rows
from kstreams_kafka.topic_io import KafkaIO
from kstreams_kafka.topic_limits import BARE_LIMITS, KafkaLimits, limits_of
from tests.support.kafka.sample_records import output_table, read_all

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

HOUR_MS = 3_600_000


def test_limits_are_read_from_topic_configuration(broker: KafkaBroker, topic_name: str) -> None:
    config = {
        "message.timestamp.before.max.ms": "5000",
        "message.timestamp.after.max.ms": "3600000",
        "max.message.bytes": "70000",
        "cleanup.policy": "compact",
    }
    broker.create_topic(topic_name, config=config)
    kafka = Kafka(broker.bootstrap)
    expected = TopicLimits(1, 5_000, HOUR_MS, 70_000, needs_key=True, plain_names=True)
    assert topic_limits(kafka, topic_name) == expected
    own = Kafka(broker.bootstrap, producer={"message.max.bytes": 80_000})
    assert topic_limits(own, topic_name).max_bytes == 80_000


def test_topic_with_append_time_has_no_limit_of_time() -> None:
    config = {"message.timestamp.type": "LogAppendTime", "message.timestamp.after.max.ms": "5"}
    assert limits_of(config) == BARE_LIMITS


def test_older_single_time_limit_applies_to_past_and_future() -> None:
    found = limits_of({"message.timestamp.difference.max.ms": "7"})
    assert (found.before_ms, found.after_ms) == (7, 7)
    forever = limits_of({"message.timestamp.before.max.ms": str(2**63 - 1)})
    assert (forever.before_ms, forever.after_ms) == (None, None)


def test_limits_of_missing_topic_raise_unknown_topic_error(
    broker: KafkaBroker, topic_name: str
) -> None:
    with pytest.raises(UnknownTopicError, match=topic_name):
        topic_limits(Kafka(broker.bootstrap), topic_name)


def test_records_within_limit_are_written_although_their_batch_exceeds_it(
    broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name, config={"max.message.bytes": "20000"})
    values: list[bytes | None] = [os.urandom(9_000) for _ in range(20)]
    table = output_table(topic_name, [b"k"] * 20, values=values)
    kafka = Kafka(broker.bootstrap)
    write_rows(kafka, table, partitioner=Murmur2Partitioner(), id_prefix="p")
    assert [record.value for record in read_all(kafka, topic_name)] == values


def test_record_above_client_default_is_written_if_topic_accepts_it(
    broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name, config={"max.message.bytes": "4000000"})
    value = os.urandom(3_000_000)
    table = output_table(topic_name, [b"k"], values=[value])
    kafka = Kafka(broker.bootstrap)
    write_rows(kafka, table, partitioner=Murmur2Partitioner(), id_prefix="p")
    assert [record.value for record in read_all(kafka, topic_name)] == [value]


@pytest.mark.parametrize("headers", [0, 3], ids=["bare", "with headers"])
@pytest.mark.parametrize("over", [-300, 200], ids=["below", "above"])
def test_record_size_is_rejected_exactly_above_broker_limit(
    broker: KafkaBroker, topic_name: str, over: int, headers: int
) -> None:
    limit = 50_000
    broker.create_topic(topic_name, config={"max.message.bytes": str(limit)})
    own = tuple(("name", os.urandom(1_000)) for _ in range(headers))
    value = os.urandom(limit - 512 - headers * 1_012 + over)
    table = output_table(topic_name, [b"k"], values=[value], headers={0: own} if own else {})
    kafka = Kafka(broker.bootstrap)
    refused = topic_limits(kafka, topic_name).refused(table, 0)
    assert (refused is not None) == (over > 0)
    if over <= 0:
        write_rows(kafka, table, partitioner=Murmur2Partitioner(), id_prefix="i" * 200)


def late(topic: str) -> pa.Table:
    """Return records; the second and fourth are two hours ahead."""
    table = output_table(topic, [b"%d" % n for n in range(5)])
    now = SystemClock().now_ms()
    times = [now + (2 * HOUR_MS if n in {1, 3} else 0) for n in range(5)]
    return table.set_column(3, "timestamp", pa.array(times, pa.int64()))


def test_record_rejected_by_broker_is_named_and_not_other_records_of_batch(
    broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name, config={"message.timestamp.after.max.ms": str(HOUR_MS)})
    with pytest.raises(RecordRefusedError) as caught:
        write_rows(
            Kafka(broker.bootstrap),
            late(topic_name),
            partitioner=Murmur2Partitioner(),
            id_prefix="p",
            node="out",
        )
    where = caught.value.where
    assert (where.node, where.topic, where.key) == ("out", topic_name, b"1")
    assert caught.value.code in {"INVALID_RECORD", "INVALID_TIMESTAMP"}


def test_separate_writes_return_row_numbers_of_rejected_records_and_write_other_records(
    broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name, config={"message.timestamp.after.max.ms": str(HOUR_MS)})
    kafka = Kafka(broker.bootstrap, producer={"batch.num.messages": 100})
    table = late(topic_name)
    refused = write_apart(kafka, table, partitioner=Murmur2Partitioner(), id_prefix="p")
    assert list(refused) == [1, 3]
    assert [record.key for record in read_all(kafka, topic_name)] == [b"0", b"2", b"4"]


def writing(topic: str, on_refused: Any) -> PartitionGroup:
    builder = TopologyBuilder("t")
    source = builder.add_source("in", Topic("in", key=BYTES, value=BYTES))
    builder.add_sink("out", Topic(topic, key=BYTES, value=BYTES), source, on_refused=on_refused)
    (group,) = builder.build().groups
    return group


@pytest.mark.parametrize("aside", [False, True], ids=["skip", "dead letter"])
def test_records_above_limit_lowered_after_check_are_handled_by_policy_of_sink(
    broker: KafkaBroker, topic_name: str, aside: bool
) -> None:
    broker.create_topic(topic_name)
    dead = broker.create_topic(
        f"{topic_name}-dead", config={"message.timestamp.after.max.ms": str(HOUR_MS)}
    )
    kafka = Kafka(broker.bootstrap)
    table = late(topic_name)
    assert topic_limits(kafka, topic_name).refused(table, 0) is None
    _configure(broker, topic_name, "message.timestamp.after.max.ms", str(HOUR_MS))
    group = writing(topic_name, DeadLetter(dead) if aside else "skip")
    output = TaskOutput({"out": table}, wall_ms=SystemClock().now_ms())
    KafkaIO(kafka).write(output, group, BatchId("p", 0))
    # A batch that was rejected as a whole left no records.
    assert [record.key for record in read_all(kafka, topic_name)] == [b"0", b"2", b"4"]
    assert output.dropped == {"refused-dead-letter" if aside else "refused-skip": 2}
    letters = read_all(kafka, dead)
    assert [letter.key for letter in letters] == ([b"1", b"3"] if aside else [])
    assert all(letter.timestamp == output.wall_ms for letter in letters)


def test_topic_limits_of_unreachable_cluster_are_defaults() -> None:
    kafka = Kafka("127.0.0.1:1")
    counts = PartitionCounts(kafka.client_options(), timeout=timedelta(seconds=1))
    assert KafkaLimits(kafka.client_options("producer"), counts).of("topic") == BARE_LIMITS


def _configure(broker: KafkaBroker, topic: str, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(30)
