"""Kafka topics as input and output of a query: start offsets, reads by tasks, writes."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from devtools.servers.kafka import KafkaBroker
from kstreams import BYTES, Topic, TopologyBuilder
from kstreams.batch.io.topic_io import BatchId
from kstreams.batch.planning.planner import BatchPlanner
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.planning.plans import Plan
from kstreams.errors import (
    DataLossError,
    PartitionCountError,
    TopicRecreatedError,
    UnknownTopicError,
)
from kstreams.graph.nodes import Start
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TopicPartition
from kstreams.partitioner import partition_by
from kstreams.state.log.directory import DirectoryObjectStore
from kstreams.task.output.outputs import TaskOutput
from kstreams_kafka.feed import KafkaFeed
from kstreams_kafka.options import Kafka
from kstreams_kafka.topic_io import KafkaIO
from tests.support.kafka.sample_records import fill, output_table, read_all

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]


def group_of(*topics: str, start: Start = "earliest") -> PartitionGroup:
    """Return a group with one source for each topic; sources are named `from-<topic>`."""
    builder = TopologyBuilder("t")
    sources = [
        builder.add_source(f"from-{t}", Topic(t, key=BYTES, value=BYTES), start=start)
        for t in topics
    ]
    builder.add_sink("out", Topic("out", key=BYTES, value=BYTES), *sources)
    (group,) = builder.build().groups
    return group


def planner(
    kafka: Kafka, path: Path, *topics: str, start: Start = "earliest", most: int = 1_000
) -> BatchPlanner:
    groups, plans = [group_of(*topics, start=start)], PlanLog(DirectoryObjectStore(path / "plans"))
    newest = plans.newest() or Plan({})
    return BatchPlanner(
        KafkaFeed(kafka),
        groups,
        max_records=most,
        max_bytes=1 << 28,
        plans=plans,
        positions=newest.positions,
        topics=newest.topics,
    )


def planned(plan: Plan | None) -> list[tuple[int, str, int, int]]:
    assert plan is not None
    return [
        (task, s.entry, s.from_offset, s.to_offset)
        for (_, task), slices in plan.tasks.items()
        for s in slices
    ]


def test_batch_reads_bounded_range_of_each_partition(
    broker: KafkaBroker, topic_name: str, tmp_path: Path
) -> None:
    broker.create_topic(topic_name, 2)
    kafka, entry = Kafka(broker.bootstrap), f"from-{topic_name}"
    fill(kafka, topic_name, 0, 50)
    fill(kafka, topic_name, 1, 10)
    plans = planner(kafka, tmp_path, topic_name, most=30)
    plan = plans.next()
    assert planned(plan) == [(0, entry, 0, 25), (1, entry, 0, 5)]
    assert plan is not None
    queues = KafkaIO(kafka).read([s for slices in plan.tasks.values() for s in slices])
    assert [(q.entry, q.topic, q.partition) for q in queues] == [
        (entry, topic_name, 0),
        (entry, topic_name, 1),
    ]
    assert [q.table.column("offset").to_pylist() for q in queues] == [
        list(range(25)),
        list(range(5)),
    ]
    assert planned(plans.next()) == [(0, entry, 25, 50), (1, entry, 5, 10)]
    assert plans.next() is None


def test_start_by_time_begins_at_first_later_record(
    broker: KafkaBroker, topic_name: str, tmp_path: Path
) -> None:
    broker.create_topic(topic_name, 3)
    kafka = Kafka(broker.bootstrap)
    fill(kafka, topic_name, 0, 20, first_ms=1_000)
    fill(kafka, topic_name, 1, 5, first_ms=100)  # all earlier than the start
    start = datetime.fromtimestamp(1.005, tz=timezone.utc)
    begun = {
        TopicPartition(topic_name, 0): 5,
        TopicPartition(topic_name, 1): 5,
        TopicPartition(topic_name, 2): 0,
    }
    assert planner(kafka, tmp_path, topic_name, start=start).positions == begun
    fill(kafka, topic_name, 1, 1, first_ms=100)  # written after the start was resolved
    again = planner(kafka, tmp_path, topic_name, start=start)
    assert again.positions == begun
    entry = f"from-{topic_name}"
    assert planned(again.next()) == [(0, entry, 5, 20), (1, entry, 5, 6)]


def test_start_at_latest_keeps_offsets_of_first_start(
    broker: KafkaBroker, topic_name: str, tmp_path: Path
) -> None:
    broker.create_topic(topic_name)
    kafka = Kafka(broker.bootstrap)
    fill(kafka, topic_name, 0, 20)
    planner(kafka, tmp_path, topic_name, start="latest")
    fill(kafka, topic_name, 0, 3)
    again = planner(kafka, tmp_path, topic_name, start="latest")
    assert planned(again.next()) == [(0, f"from-{topic_name}", 20, 23)]


def test_start_at_earliest_is_first_retained_offset(
    broker: KafkaBroker, topic_name: str, tmp_path: Path
) -> None:
    broker.create_topic(topic_name)
    kafka = Kafka(broker.bootstrap)
    fill(kafka, topic_name, 0, 10)
    _delete_before(broker, topic_name, 4)
    assert planner(kafka, tmp_path, topic_name).positions == {TopicPartition(topic_name, 0): 4}


def test_start_of_missing_topic_is_rejected(
    broker: KafkaBroker, topic_name: str, tmp_path: Path
) -> None:
    with pytest.raises(UnknownTopicError):
        planner(Kafka(broker.bootstrap), tmp_path, topic_name)


def test_records_deleted_while_app_was_stopped_raise_data_loss_error(
    broker: KafkaBroker, topic_name: str, tmp_path: Path
) -> None:
    broker.create_topic(topic_name)
    kafka = Kafka(broker.bootstrap)
    fill(kafka, topic_name, 0, 10)
    planner(kafka, tmp_path, topic_name)
    _delete_before(broker, topic_name, 5)
    with pytest.raises(DataLossError, match="begins at offset 5") as caught:
        planner(kafka, tmp_path, topic_name)
    assert (caught.value.where.topic, caught.value.where.offset) == (topic_name, 0)
    assert "reset the app" in str(caught.value)


@pytest.mark.parametrize("length", [3, 30], ids=["shorter", "longer"])
def test_recreated_topic_of_same_name_raises_data_loss_error(
    broker: KafkaBroker, topic_name: str, tmp_path: Path, length: int
) -> None:
    broker.create_topic(topic_name)
    kafka = Kafka(broker.bootstrap)
    fill(kafka, topic_name, 0, 10)
    plans = planner(kafka, tmp_path, topic_name)
    plan = plans.next()
    assert plan is not None
    PlanLog(DirectoryObjectStore(tmp_path / "plans")).write(0, plan)
    kafka.admin().delete(topic_name)
    broker.create_topic(topic_name)
    fill(kafka, topic_name, 0, length)
    with pytest.raises(TopicRecreatedError, match="created again") as caught:
        plans.next()
    assert (caught.value.where.topic, caught.value.where.partition) == (topic_name, 0)
    assert caught.value.expected == plan.topics[topic_name]
    with pytest.raises(TopicRecreatedError):  # at a start
        planner(kafka, tmp_path, topic_name)


def test_added_partitions_raise_partition_count_error(
    broker: KafkaBroker, topic_name: str, tmp_path: Path
) -> None:
    broker.create_topic(topic_name, 2)
    plans = planner(Kafka(broker.bootstrap), tmp_path, topic_name)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.create_partitions([NewPartitions(topic_name, 3)]).values():
        future.result(30)
    with pytest.raises(PartitionCountError, match="has 3 partitions, more than the 2") as caught:
        plans.next()
    assert caught.value.where.partition == 2


def test_sink_results_and_dead_letters_are_written_with_result_ids(
    broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name, 2)
    dead = broker.create_topic(f"{topic_name}-dead")
    plain = broker.create_topic(f"{topic_name}-plain")
    builder = TopologyBuilder("t")
    last = partition_by(lambda _, count: count - 1, name="last")
    source = builder.add_source("in", Topic("in", key=BYTES, value=BYTES))
    target = Topic(topic_name, key=BYTES, value=BYTES, partitioner=last)
    builder.add_sink("totals", target, source, result_ids=True)
    builder.add_sink("plain", Topic(plain, key=BYTES, value=BYTES), source)
    (group,) = builder.build().groups
    kafka = Kafka(broker.bootstrap)
    output = TaskOutput(
        sinks={
            "totals": output_table(topic_name, [b"a", b"b"]),
            "plain": output_table(plain, [b"d"], headers={0: (("own", b"1"),)}),
        },
        dead_letters={dead: output_table(dead, [b"c"])},
    )
    staged = KafkaIO(kafka).write(output, group, BatchId("epoch/in/0", 7))
    assert staged == ()
    assert [(r.partition, r.key, r.headers) for r in read_all(kafka, topic_name)] == [
        (1, b"a", (("kstreams-id", b"epoch/in/0/totals/7/0"),)),
        (1, b"b", (("kstreams-id", b"epoch/in/0/totals/7/1"),)),
    ]
    assert [(r.key, r.headers) for r in read_all(kafka, plain)] == [(b"d", (("own", b"1"),))]
    assert [(r.key, r.headers) for r in read_all(kafka, dead)] == [
        (b"c", (("kstreams-id", b"epoch/in/0/dead-letter:%s/7/0" % dead.encode()),))
    ]


def _delete_before(broker: KafkaBroker, topic: str, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.delete_records([confluent_kafka.TopicPartition(topic, 0, offset)]).values():
        future.result(30)
