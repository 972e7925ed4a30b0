"""A task's output as tables: by sink, topic and partition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.graph.topology import PartitionGroup
from kstreams.partitioner import Murmur2Partitioner, Partitioner
from kstreams.task.outputs import TaskOutput
from kstreams.task.own_partition import OwnPartition
from kstreams.task.routing import parted

__all__ = ("by_partition", "by_topic", "changelog_name", "outputs_of")


def outputs_of(
    output: TaskOutput, group: PartitionGroup
) -> Iterator[tuple[str, Partitioner, pa.Table]]:
    """Yield name, partitioner and table of each sink, dead-letter topic and changelog.

    Sinks come first: what is added to dead letters meanwhile is yielded too.
    """
    partitioners: dict[str, Partitioner] = {
        node.name: found
        for node in group.sinks
        if (found := getattr(node.target, "partitioner", None)) is not None
    }
    for name, table in output.sinks.items():
        yield name, partitioners[name], table
    for topic, table in output.dead_letters.items():
        yield f"dead-letter:{topic}", Murmur2Partitioner(), table
    for store, table in output.changelogs.items():
        yield changelog_name(store), OwnPartition(output.partition), table


def changelog_name(store: str) -> str:
    """Return what stands for a sink's name where a store's changelog is written."""
    return f"changelog:{store}"


def by_topic(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Divide a sink's table by topic, keeping the order in each."""
    topics = table.column("topic").unique().to_pylist()
    for topic in topics:
        same = len(topics) == 1
        yield topic, table if same else table.filter(pc.equal(table.column("topic"), topic))


def by_partition(
    table: pa.Table, partitioner: Partitioner, partitions: int, *, first: int = 0
) -> Iterator[tuple[int, pa.Table]]:
    """Divide rows by partition, keeping the order in each; null keys are spread by row.

    Args:
        table: The rows.
        partitioner: Of the sink.
        partitions: How many the topic has.
        first: How many rows of the topic came before.
    """
    return parted(table, targets_of(table, partitioner, partitions, first=first))


def targets_of(
    table: pa.Table, partitioner: Partitioner, partitions: int, *, first: int = 0
) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Return each row's partition; rows of null key go round."""
    keys = table.column("key").combine_chunks()
    targets = partitioner.partition_batch(keys, partitions)
    if keys.null_count:
        rows = np.arange(first, first + table.num_rows, dtype=np.int64) % partitions
        targets = np.where(targets < 0, rows.astype(np.int32), targets)
    return targets
