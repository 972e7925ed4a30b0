"""The total counts of a query's nodes after a batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kstreams.batch.messages.task_status import TaskStatus
from kstreams.state.log.loop_objects import LoopPart, rows_by_loop
from kstreams.state.log.topic_counts import bounded_topics, summed_topics
from kstreams.state.log.totals import NodeCounts, PartitionCounts, Totals, summed

__all__ = ("totals_after",)


def totals_after(
    before: Totals,
    statuses: Sequence[TaskStatus],
    *,
    loops_before: Iterable[LoopPart],
    loops: Iterable[LoopPart],
) -> Totals:
    """Return the totals after a batch.

    Args:
        before: The totals before the batch.
        statuses: The statuses of the batch's tasks.
        loops_before: The records in loops before the batch.
        loops: The records in loops after the batch.
    """
    sources = {node: dict(places) for node, places in before.sources.items()}
    more: Counter[str] = Counter()  # the change of the number of held records, by source
    for each in (each for status in statuses for each in status.reads):
        places = sources.setdefault(each.node, {})
        taken, held = places.get(each.place, PartitionCounts())
        # A batch may read fewer records than are held back, or more.
        waits = max(held, each.rows) - each.taken
        places[each.place] = PartitionCounts(taken + each.taken, waits)
        more[each.node] += waits - held
    waiting = [{source: NodeCounts(count, held=count)} for source, count in more.items()]
    waiting += [{loop: NodeCounts(held=rows)} for loop, rows in rows_by_loop(loops).items()]
    waiting += [{loop: NodeCounts(held=-n)} for loop, n in rows_by_loop(loops_before).items()]
    nodes = summed([before.nodes, *(status.counts for status in statuses), *waiting])
    topics = summed_topics([before.topics, *(status.topics for status in statuses)])
    return Totals(
        {node: counts.bounded() for node, counts in nodes.items()},
        sources,
        bounded_topics(topics),
    )
