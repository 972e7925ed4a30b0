"""Helpers that build a `BatchPlanner` over embedded topics and read the plans it makes."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pyarrow as pa
from hypothesis import strategies as st

from kstreams import INT64, TEXT, Embedded, Topic, TopologyBuilder, key_value_store
from kstreams.batch.io.embedded.feed import EmbeddedFeed
from kstreams.batch.planning.planner import BatchPlanner
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.planning.plans import Plan
from kstreams.embedded.log import EmbeddedLog
from kstreams.graph.nodes import Start
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TopicPartition, parse_keys
from kstreams.processors.peek import peek
from kstreams.state.log.directory import DirectoryObjectStore

STORE = key_value_store("store", key=TEXT, value=INT64)


def groups_of(*topics: str, start: Start = "earliest") -> tuple[PartitionGroup, ...]:
    builder = TopologyBuilder("planned")
    nodes = [builder.add_source(name, Topic(name, TEXT, TEXT), start=start) for name in topics]
    builder.add_processor("look", peek(print), *nodes, stores=[STORE])
    return builder.build().pipelines()[0]


def new_log(path: Path, *topics: str, partitions: int = 2) -> EmbeddedLog:
    log = EmbeddedLog(path, durable=False)
    for topic in topics:
        log.create(topic, partitions)
    return log


def append(log: EmbeddedLog, topic: str, partition: int, *timestamps: int) -> None:
    table = pa.table(
        {
            "timestamp": pa.array(timestamps, pa.int64()),
            "key": pa.array([b"k"] * len(timestamps), pa.binary()),
            "value": pa.array([b"v"] * len(timestamps), pa.binary()),
        }
    )
    end = log.end_offset(topic, partition)
    log.append(topic, partition, table, producer=f"{topic}/{partition}", batch=end)


def planner_on(
    log: EmbeddedLog,
    groups: tuple[PartitionGroup, ...],
    most: int = 100,
    max_bytes: int = 1 << 28,
    **positions: int,
) -> BatchPlanner:
    known = {name.replace("__", "/"): offset for name, offset in positions.items()}
    path = log.root.parent / f"{log.root.name}-plans"
    plans = PlanLog(DirectoryObjectStore(path / f"of-{uuid4().hex}"))
    return planner_of(log, groups, plans, most, max_bytes, **known)


def planner_of(
    log: EmbeddedLog,
    groups: tuple[PartitionGroup, ...],
    plans: PlanLog,
    most: int = 100,
    max_bytes: int = 1 << 28,
    **known: int,
) -> BatchPlanner:
    feed = EmbeddedFeed(Embedded(log.root, durable=False))
    # as a restarted query does
    newest = plans.newest() or Plan({}, parse_keys(TopicPartition, known))
    return BatchPlanner(
        feed,
        groups,
        max_records=most,
        max_bytes=max_bytes,
        plans=plans,
        positions=newest.positions,
        topics=newest.topics,
    )


def read_by(plan: Plan | None) -> list[tuple[int, str, int, int, int]]:
    assert plan is not None
    return [
        (task, s.topic, s.partition, s.from_offset, s.to_offset)
        for (_, task), slices in plan.tasks.items()
        for s in slices
    ]


def created_again(log: EmbeddedLog, length: int, partitions: int = 1) -> tuple[str, str]:
    """Delete topic `a` and create it with a number of records; return both topic ids."""
    before = log.topic("a").incarnation
    log.delete("a")
    after = log.create("a", partitions).incarnation
    if length:
        append(log, "a", 0, *range(length))
    return before, after


LAGS = st.dictionaries(st.text(min_size=1, max_size=3), st.integers(1, 1_000), max_size=8)


def append_sized(log: EmbeddedLog, topic: str, partition: int, *sizes: int) -> None:
    count = len(sizes)
    table = pa.table(
        {
            "timestamp": pa.array([1] * count, pa.int64()),
            "key": pa.array([b"k"] * count, pa.binary()),
            "value": pa.array([bytes(size) for size in sizes], pa.binary()),
        }
    )
    end = log.end_offset(topic, partition)
    log.append(topic, partition, table, producer=f"{topic}/{partition}", batch=end)
