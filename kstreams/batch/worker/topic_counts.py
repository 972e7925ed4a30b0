"""Counts the records and bytes that a task's batch read from topics and wrote to them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from kstreams.graph.topology import PartitionGroup
from kstreams.raw_batch import by_topic
from kstreams.state.log.topic_counts import TopicCounts, bounded_topics, summed_topics
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.records.queues import Queue

__all__ = ("topic_counts",)


def topic_counts(
    queues: Sequence[Queue], output: TaskOutput, group: PartitionGroup
) -> dict[str, TopicCounts]:
    """Return the records and bytes that a task read from and wrote to each topic in a batch.

    Args:
        queues: The records that were read from topics, including held-back ones.
        output: The output after it was written, so that it has the dead letters of rejected
            results.
        group: The group of the task.
    """
    parts: list[dict[str, TopicCounts]] = []
    for queue in queues:
        taken = _taken(queue, output)
        if taken.num_rows:
            parts.append({queue.topic: TopicCounts(taken.num_rows, _bytes_of(taken))})
    for table in output.sinks.values():
        parts += [{topic: _written(rows)} for topic, rows in by_topic(table)]
    parts += [{topic: _written(table)} for topic, table in output.dead_letters.items()]
    changelogs = {spec.name: spec.changelog for spec in group.stores if spec.changelog is not None}
    parts += [{changelogs[store]: _written(rows)} for store, rows in output.changelogs.items()]
    return dict(bounded_topics(summed_topics(parts)))


def _taken(queue: Queue, output: TaskOutput) -> pa.Table:
    """Return the processed records of a queue: its first ones; the others are held back.

    A held-back record is processed in a later batch; see `HeldBack`.
    """
    held = output.held.get(queue.topic_partition)
    return queue.table if held is None else queue.table.slice(0, held.passed)


def _written(table: pa.Table) -> TopicCounts:
    return TopicCounts(records_out=table.num_rows, bytes_out=_bytes_of(table))


def _bytes_of(table: pa.Table) -> int:
    """Return the total bytes of keys and values."""
    lengths = (pc.sum(pc.binary_length(table.column(name))) for name in ("key", "value"))
    return sum(length.as_py() or 0 for length in lengths)
