"""`check_totals`: assertions about record counts of nodes that hold at every commit."""

from __future__ import annotations

from kstreams import Topology
from kstreams.graph.nodes import ProcessorNode
from kstreams.state.log.totals import NodeCounts, Totals

__all__ = ("check_totals",)


def check_totals(topology: Topology, totals: Totals) -> None:
    """Assert that no record is lost or added, in a node or between nodes.

    Args:
        topology: The topology of the nodes.
        totals: The counts of the nodes, of all queries or of one.
    """
    known = dict(topology.nodes)
    children = {name: list[str]() for name in known}
    for group in topology.groups:
        for parent, nodes in group.children().items():
            children.setdefault(parent, []).extend({node.name for node in nodes})
    for name in (*known, *totals.nodes):
        counts = totals.nodes.get(name, NodeCounts())
        assert min(counts.records_in, counts.records_out, counts.held) >= 0, (name, counts)
        if not isinstance(known[name], ProcessorNode):
            settled = counts.records_out + counts.lost + counts.held
            assert counts.records_in == settled, (name, counts)
        parents = set(known[name].parents)
        if not parents:
            continue
        given = sum(totals.nodes.get(each, NodeCounts()).records_out for each in parents)
        assert counts.records_in <= given, (name, counts, given)
        if all(len(children[each]) == 1 for each in parents):
            assert counts.records_in == given, (name, counts, given)
