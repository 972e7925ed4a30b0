"""Collect the output of a batch from the buffers of the task, with its counts."""

from __future__ import annotations

from kstreams.graph.topology import PartitionGroup
from kstreams.state.log.totals import SourceRead
from kstreams.task.failures.policies import Policies
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.progress.counts import counts_of
from kstreams.task.progress.cursor import Cursor
from kstreams.task.wiring import Wiring

__all__ = ("gathered",)


def gathered(
    group: PartitionGroup,
    wiring: Wiring,
    policies: Policies,
    cursor: Cursor,
    reads: tuple[SourceRead, ...],
) -> TaskOutput:
    """Return the output of a batch, and empty all buffers for the next batch.

    Args:
        group: The nodes of the task.
        wiring: The processors and the buffers.
        policies: Has the dead letters of the batch.
        cursor: Has the counts of dropped records, and the wall time.
        reads: The processed ranges of sources.

    Raises:
        SerializationError: A record cannot be encoded. The error names node, topic and key.
        RecordRefusedError: A topic rejects a record, and the policy of the sink is `fail`.
        OSError: The disk is full, or rejects the write.
    """
    flowed = wiring.flows.counts()
    drained = {name: collector.drain() for name, collector in wiring.collectors.items()}
    tables = {name: table for name, table in drained.items() if table is not None}
    rows = {name: 0 if table is None else table.num_rows for name, table in drained.items()}
    counts = counts_of(group, wiring.flows, flowed, cursor, reads, rows)
    wiring.clear_counts()
    edges = {edge.name for edge in group.exits}
    ends = {end.name: end.loop.name for end in group.loop_ends}
    return TaskOutput(
        results={name: found for name, c in wiring.results.items() if (found := c.drain())},
        sinks={n: table for n, table in tables.items() if n not in edges and n not in ends},
        edges={name: table for name, table in tables.items() if name in edges},
        loops={ends[name]: table for name, table in tables.items() if name in ends},
        dead_letters=policies.drain(),
        lines=[line for lines in wiring.lines.values() for line in lines.drain()],
        counts=counts,
        samples=cursor.samples,
        reads=reads,
        wall_ms=cursor.wall_time,
    )
