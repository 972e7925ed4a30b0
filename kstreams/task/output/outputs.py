"""The output of a batch: columns for each sink and repartition edge."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from kstreams.ids import TopicPartition
from kstreams.state.log.totals import NodeCounts, SourceRead, by_reason
from kstreams.task.output.results import SinkInput
from kstreams.task.progress.drop_sample import DropSample
from kstreams.task.times.holding import HeldBack

__all__ = ("TaskOutput",)


@dataclass
class TaskOutput:
    """The output of one run of a task.

    Attributes:
        sinks: By sink node, a table of `kstreams.raw_batch.OUTPUT_SCHEMA`; only those with rows.
        results: By sink node with another destination than a topic, its input; only those with
            rows.
        dead_letters: By dead-letter topic, a table of the same schema.
        edges: By repartition node, a table of the same schema (the topic is the name of the edge);
            with a column `HOPS` in a topology with loops.
        loops: By loop, a table of the same schema (the topic is the name of the loop), with a
            column `HOPS`.
        lines: The lines of `to_stdout` sinks, and the number of omitted lines.
        records_in: The number of input records.
        counts: The input and output counts of each node that had records.
        samples: Samples of dropped records, with topic, partition and offset.
        reads: The processed range of each source partition.
        changelogs: By store, a table of changelog records for the partition.
        partition: The partition of the task.
        wall_ms: The wall time of the batch, ms since the epoch.
        held: The source partitions with records for a later batch.
        next_wall_due: The wall time at which the next wall-clock punctuator or idle timeout is due,
            ms since the epoch; None if there is none.
        nodes_us: The sampled time of nodes, in microseconds.
    """

    sinks: dict[str, pa.Table] = field(default_factory=dict)
    results: dict[str, SinkInput] = field(default_factory=dict)
    dead_letters: dict[str, pa.Table] = field(default_factory=dict)
    edges: dict[str, pa.Table] = field(default_factory=dict)
    loops: dict[str, pa.Table] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    records_in: int = 0
    counts: dict[str, NodeCounts] = field(default_factory=dict)
    samples: tuple[DropSample, ...] = ()
    reads: tuple[SourceRead, ...] = ()
    changelogs: dict[str, pa.Table] = field(default_factory=dict)
    partition: int = 0
    wall_ms: int = 0
    held: dict[TopicPartition, HeldBack] = field(default_factory=dict)
    next_wall_due: int | None = None
    nodes_us: dict[str, int] = field(default_factory=dict)

    @property
    def dropped(self) -> dict[str, int]:
        """The number of dropped records, by reason."""
        return by_reason(self.counts)
