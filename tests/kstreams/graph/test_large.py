"""Two thousand nodes are built, drawn and run; the cost grows linearly."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import Record
from kstreams.graph.nodes import SinkNode
from kstreams.testing import TopologyTestDriver
from tests.support.topologies.large_topology import BELOW, DEEP, EDGES, IN, STORES, WIDE, large, out


@pytest.mark.long
def test_two_thousand_nodes_are_built_and_drawn() -> None:
    topology = large()
    count = 1 + DEEP + WIDE + EDGES * (BELOW + 2) + 2
    assert len(topology.nodes) == count > 2_000
    assert len(topology.stores) == STORES
    assert len(topology.groups) == 1 + EDGES
    described = topology.describe()
    assert described.count("Processor: ") == DEEP + WIDE + EDGES * BELOW
    assert topology.to_mermaid().count("-->") >= count
    assert topology.to_dot().count("->") >= count
    assert topology.fingerprint() == large().fingerprint()


@pytest.mark.long
@pytest.mark.parametrize("recreate", [False, True])
def test_two_thousand_nodes_run_on_test_driver(recreate: bool) -> None:
    topology = large()
    with TopologyTestDriver(topology, partitions=2, recreate_processors=recreate) as driver:
        for batch in range(2):
            driver.pipe_batch(IN, [Record(f"k{n}", 1, n) for n in range(4)])
            assert driver.dropped == {}
            assert [record.value for record in driver.read(out("deep"))] == [1 + DEEP] * 4
            for edge in range(EDGES):
                found = driver.read(out(f"edge-{edge}"))
                assert [record.value for record in found] == [batch + 1] * 4
            assert len(driver.read(out("wide"))) == 4 * WIDE


def test_finding_children_visits_each_node_once() -> None:
    looked: list[str] = []

    class Counted(SinkNode):
        """Counts accesses to its parents."""

        def __getattribute__(self, name: str) -> Any:
            if name == "parents":
                looked.append(name)
            return super().__getattribute__(name)

    (first, *_) = large().groups
    nodes = tuple(
        Counted(n.name, n.target, n.parents) if isinstance(n, SinkNode) else n for n in first.nodes
    )
    group = type(first)(first.name, nodes, first.entries)
    looked.clear()
    assert len(group.children()["in"]) == 1 + WIDE
    assert len(looked) == sum(isinstance(node, SinkNode) for node in nodes)
