"""Batches of several Kafka topics end at a common time, across restarts and when one topic ends."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from devtools.servers.kafka import KafkaBroker
from kstreams import BYTES, Topic, TopologyBuilder
from kstreams.batch.planning.planner import BatchPlanner
from kstreams.batch.planning.read_order import read_order
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.planning.plans import Plan
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TopicPartition
from kstreams.state.log.directory import DirectoryObjectStore
from kstreams_kafka.feed import KafkaFeed
from kstreams_kafka.options import Kafka
from kstreams_kafka.topic_io import KafkaIO

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

MOST = 300


def group_of(*topics: str) -> PartitionGroup:
    builder = TopologyBuilder("t")
    sources = [builder.add_source(t, Topic(t, key=BYTES, value=BYTES)) for t in topics]
    builder.add_sink("out", Topic("out", key=BYTES, value=BYTES), *sources)
    (group,) = builder.build().groups
    return group


def planner_of(kafka: Kafka, group: PartitionGroup, plans: PlanLog) -> BatchPlanner:
    newest = plans.newest() or Plan({})
    return BatchPlanner(
        KafkaFeed(kafka),
        [group],
        max_records=MOST,
        max_bytes=1 << 28,
        plans=plans,
        positions=newest.positions,
        topics=newest.topics,
    )


def write(kafka: Kafka, topic: str, partition: int, times: Iterable[int]) -> None:
    writer = kafka.writer()
    for time in times:
        writer.enqueue(topic, partition, b"k", b"v", time, ())
    writer.close()


def read(kafka: Kafka, plan: Plan) -> list[tuple[TopicPartition, int, int]]:
    """Return partition, offset and time of each record of a plan."""
    slices = [each for part in plan.tasks.values() for each in part]
    found = []
    for each, queue in zip(slices, KafkaIO(kafka).read(slices), strict=True):
        columns = (queue.table.column(name).to_pylist() for name in ("offset", "timestamp"))
        found += [(each.topic_partition, *row) for row in zip(*columns, strict=True)]
    return found


def test_records_are_read_in_order_of_their_times(
    broker: KafkaBroker, topic_name: str, tmp_path: Path
) -> None:
    rows, records = f"{topic_name}-rows", f"{topic_name}-records"
    kafka, group = Kafka(broker.bootstrap), group_of(records, rows)
    disorder = [t + (977 * t) % 40 for t in range(20_000, 20_600)]
    for topic in (rows, records):
        broker.create_topic(topic, 2)
    for partition in range(2):
        write(kafka, rows, partition, [*range(1_000, 1_500), *[20_100] * 4 * MOST])
        write(kafka, records, partition, [*disorder, *range(40_000, 40_100)])
    plans, order = PlanLog(DirectoryObjectStore(tmp_path / "plans")), read_order([group])
    planner, highest = planner_of(kafka, group, plans), dict[TopicPartition, int]()
    merged: list[tuple[int, tuple[int, ...], int]] = []
    number, sizes = 0, []
    while (plan := planner.next()) is not None:
        plans.write(number, plan)
        batch = []
        for place, offset, time in read(kafka, plan):
            highest[place] = max(time, highest.get(place, 0))
            batch.append((highest[place], order(place), offset))
        merged += sorted(batch)
        sizes.append(len(batch))
        number += 1
        if number % 3 == 0:
            planner = planner_of(kafka, group, plans)  # like after a restart
    assert merged == sorted(merged)
    assert len(merged) == 2 * (500 + 4 * MOST + 700)
    assert max(sizes) <= MOST
    assert len(sizes) <= 2 * len(merged) // MOST

    write(kafka, records, 0, range(50_000, 50_000 + 2 * MOST))  # the other topic is at its end
    planner, sizes = planner_of(kafka, group, plans), []
    while (plan := planner.next()) is not None:
        sizes.append(plan.record_count)
    assert sum(sizes) == 2 * MOST
    assert len(sizes) <= 4
