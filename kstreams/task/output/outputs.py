"""What a batch gives out: columns for each sink and repartition edge."""

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
    """What one run of a task gives out.

    Attributes:
        sinks: By sink node, a table of `kstreams.raw_batch.OUTPUT_SCHEMA`; only those with rows.
        results: By sink node that writes to no topic, what it gets; only those with rows.
        dead_letters: By dead-letter topic, the same.
        edges: By repartition node, the same (topic is the edge's name); with a column `HOPS`
            where there are loops.
        loops: By loop, the same (topic is the loop's name), with a column `HOPS`.
        lines: What `to_stdout` sinks print, and how many lines were left out.
        records_in: How many records entered.
        counts: How many records each node took and gave; of those that had some.
        samples: Where a few of those came from that were dropped.
        reads: What was processed of each source's partitions.
        changelogs: By store, a table of its changelog's records, for the partition.
        partition: The task's own.
        wall_ms: The batch's wall time.
        held: Of which source partitions records wait for a later batch.
        next_wall_due: When a wall-clock punctuator is due next, ms; None without any.
        nodes_us: Microseconds that nodes took, as far as somebody has looked.
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
        """How many records were dropped, by reason."""
        return by_reason(self.counts)
