"""The number of tasks of a topology, from the partitions of the existing topics."""

from __future__ import annotations

from contextlib import closing
from functools import partial

from kstreams.batch.io.open_feed import feed_of
from kstreams.checkpoint.start.rescaling import TopicSpan
from kstreams.connection import Connection
from kstreams.graph.checks.partitions import PartitionCounts, partition_counts
from kstreams.graph.topology import Topology

__all__ = ("count_partitions", "count_records", "topic_span")


def count_partitions(connection: Connection, topology: Topology) -> PartitionCounts:
    """Return the numbers of tasks and partitions that a topology needs for its existing topics.

    Raises:
        UnknownTopicError: The topic of a source does not exist.
        PartitionCountError: Topics that must be co-partitioned have different partition counts.
    """
    topics = sorted({node.topic.name for node in topology.sources})
    with closing(feed_of(connection, topology.sources)) as feed:
        counts = {topic: feed.admin.partition_count(topic) for topic in topics}
    return partition_counts(topology, counts, partial(count_records, connection, topology))


def count_records(connection: Connection, topology: Topology, topic: str) -> int:
    """Return the number of offsets of a source, which may exceed the number of its records."""
    with closing(feed_of(connection, topology.sources)) as feed:
        begin, end = feed.admin.beginning_offsets(topic), feed.admin.end_offsets(topic)
    return sum(end.values()) - sum(begin.values())


def topic_span(connection: Connection, topology: Topology, topic: str) -> TopicSpan:
    """Return the first and the end offset of each partition of a source."""
    with closing(feed_of(connection, topology.sources)) as feed:
        return TopicSpan(feed.admin.beginning_offsets(topic), feed.admin.end_offsets(topic))
