"""One operator after a count, run by records or by columns on the test driver."""

from __future__ import annotations

from typing import Any

from kstreams import INT64, TEXT, Topic, TopologyBuilder, aggregate, timestamped_store
from kstreams.aggregators import count
from kstreams.graph.execution.planner import ExecutionPlanner
from kstreams.graph.nodes import ProcessorNode
from kstreams.processors import Supplier
from kstreams.processors.columns import Execution
from kstreams.testing import TopologyTestDriver

WORDS = Topic("words", TEXT, TEXT)
OUT = Topic("out", TEXT, TEXT)
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)


def below_a_count(
    supplier: Supplier[Any, Any, Any, Any], execution: Execution
) -> list[tuple[Any, Any]]:
    """Return the keys and values that an operator forwards for the counts of `a`, `b` and `b`."""
    builder = TopologyBuilder("below")
    words = builder.add_source("words", WORDS)
    counted = aggregate(count(), store=COUNTS, execution=execution)
    node: Any = builder.add_processor("count", counted, words)
    builder.add_sink("out", OUT, builder.add_processor("op", supplier, node))
    topology = builder.build()
    (group,) = topology.groups
    operator = topology.nodes["op"]
    assert isinstance(operator, ProcessorNode)
    found = ExecutionPlanner(group).column_processor(operator, punctuated=False)
    assert (found is not None) is (execution == "columns")
    with TopologyTestDriver(topology) as driver:
        for word in ("a", "b", "b"):
            driver.write(WORDS, word, "")
        driver.run()
        return sorted((record.key, record.value) for record in driver.read(OUT))
