"""A task's output as tables: one for each sink, dead-letter topic and changelog."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from kstreams.graph.topology import PartitionGroup
from kstreams.partitioner import Murmur2Partitioner, Partitioner
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.output.own_partition import OwnPartition
from kstreams.topic import Topic, TopicChoice

__all__ = ("changelog_name", "outputs_of")


def outputs_of(
    output: TaskOutput, group: PartitionGroup
) -> Iterator[tuple[str, Partitioner, pa.Table]]:
    """Yield name, partitioner and table of each sink, dead-letter topic and changelog.

    Sinks come first: dead letters that are added while the caller writes them are yielded, too.
    """
    partitioners = {
        node.name: node.target.partitioner
        for node in group.sinks
        if isinstance(node.target, (Topic, TopicChoice))
    }
    for name, table in output.sinks.items():
        yield name, partitioners[name], table
    for topic, table in output.dead_letters.items():
        yield f"dead-letter:{topic}", Murmur2Partitioner(), table
    for store, table in output.changelogs.items():
        yield changelog_name(store), OwnPartition(output.partition), table


def changelog_name(store: str) -> str:
    """Return the id of a store's changelog among the sinks of a task."""
    return f"changelog:{store}"
