"""The total counts of a query at a commit, and their transfer to another topology."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kstreams.graph.named_topics import dead_letter_topics, read_topics, written_topics
from kstreams.graph.topology import PartitionGroup
from kstreams.state.log.commits import Commit
from kstreams.state.log.loop_objects import rows_by_loop
from kstreams.state.log.topic_counts import summed_topics
from kstreams.state.log.totals import Totals, summed

__all__ = ("carried_totals", "totals_of")


def totals_of(last: Commit | None) -> Totals:
    """Return the total counts of a commit, or initial counts if it has none."""
    if last is None:
        return Totals()
    return last.totals or Totals.of_waiting(rows_by_loop(last.loops))


def carried_totals(groups: Sequence[PartitionGroup], commits: Iterable[Commit]) -> Totals:
    """Return the total counts of the nodes of groups, over all old queries.

    A topic that several queries have counted starts at zero, because the count of each group is
    not known.

    Args:
        groups: The groups of one query of the new topology.
        commits: The last commits of all queries of the old topology.
    """
    known = [totals_of(commit) for commit in commits]
    inputs = {node.name for group in groups for node in group.inputs}
    names = inputs | {node.name for group in groups for node in group.nodes}
    nodes = summed(each.nodes for each in known)
    owners = Counter(topic for each in known for topic in each.topics)
    topics = summed_topics(each.topics for each in known)
    lists = read_topics(groups), written_topics(groups), dead_letter_topics(groups)
    touched = {topic for each in lists for _, topic in each}
    return Totals(
        {node: counts for node, counts in nodes.items() if node in names},
        {node: places for each in known for node, places in each.sources.items() if node in names},
        {
            topic: counts
            for topic, counts in topics.items()
            if topic in touched and owners[topic] == 1
        },
    )
