"""The counts of a task's nodes: input, output and dropped records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kstreams.graph.nodes import LoopEndNode, RepartitionNode, SinkNode
from kstreams.graph.topology import PartitionGroup
from kstreams.state.log.totals import NodeCounts, SourceRead, summed
from kstreams.task.progress.cursor import Cursor
from kstreams.task.progress.record_counts import Flows

__all__ = ("counts_of",)


def counts_of(
    group: PartitionGroup,
    flows: Flows,
    flowed: Mapping[str, tuple[int, int]],
    cursor: Cursor,
    reads: Sequence[SourceRead],
    written: Mapping[str, int],
) -> dict[str, NodeCounts]:
    """Return the counts of a batch, by node, for nodes with records.

    The sending task counts the input of an edge or a loop; the receiving task counts the output.

    Args:
        group: The nodes of the task.
        flows: Has the number of records that each source, edge and loop has forwarded.
        flowed: The result of `Flows.counts` before the output was collected.
        cursor: Has the counts of dropped records.
        reads: The processed ranges of sources.
        written: The number of rows of each sink, edge and loop end that collects rows.
    """
    found = {node: NodeCounts(records_out=count) for node, count in flows.passed.items()}
    parts = [found, *({read.node: NodeCounts(records_in=read.taken)} for read in reads)]
    for node in group.nodes:
        came, gave = flowed.get(node.name, (0, 0))
        match node:
            case RepartitionNode():
                parts.append({node.name: NodeCounts(records_in=came)})
            case LoopEndNode():
                sent = written.get(node.name, 0)
                came += sum(cursor.dropped_by(node.name).values())
                parts.append({node.name: NodeCounts(came, sent)})
                parts.append({node.loop.name: NodeCounts(records_in=sent)})
            case SinkNode():
                parts.append({node.name: NodeCounts(came, written.get(node.name, came))})
            case _:
                parts.append({node.name: NodeCounts(came, gave)})
    parts += [
        {node: NodeCounts(dropped={reason: count})}
        for (node, reason), count in cursor.dropped.items()
    ]
    nothing = NodeCounts()
    return {node: counts for node, counts in summed(parts).items() if counts != nothing}
