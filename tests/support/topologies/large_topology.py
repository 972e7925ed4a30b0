"""A topology of two thousand nodes: a long chain, a wide fan, many stores and repartitions."""

from __future__ import annotations

from typing import Any

from kstreams import (
    INT64,
    TEXT,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    key_value_store,
    map_values,
)
from kstreams.graph.depth import MAX_DEPTH
from kstreams.stores import StoreSpec

__all__ = ("BELOW", "DEEP", "EDGES", "IN", "STORES", "WIDE", "large", "out")

DEEP, EDGES, BELOW = min(1_200, MAX_DEPTH - 2), 20, 8
"""Nodes in the chain; repartition edges; nodes after each edge."""
WIDE = 1_900 - DEEP
"""Parallel nodes."""
STORES = 200

IN = Topic("in", TEXT, INT64)


class Total:
    """Makes processors that sum values, each in its own store."""

    def __init__(self, number: int) -> None:
        self.stores: tuple[StoreSpec[Any], ...] = (
            key_value_store(f"total-{number}", key=TEXT, value=INT64),
        )

    def __call__(self) -> Totals:
        return Totals(self.stores[0])


class Totals(FixedKeyProcessor[str, int, int]):
    """Sums values by key."""

    def __init__(self, spec: StoreSpec[Any]) -> None:
        self.spec = spec

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.store = context, context.store(self.spec)

    def process(self, record: Record[str, int]) -> None:
        total = (self.store.get(record.key) or 0) + record.value
        self.store.put(record.key, total)
        self.context.forward(record.with_value(total))


def out(name: str) -> Topic[str, int]:
    return Topic(f"out-{name}", TEXT, INT64)


def large() -> Topology:
    """Build the topology: `in` feeds a chain and parallel nodes, some with state.

    One in ten of the nodes with state feeds a repartition edge, followed by a chain and a sink; the
    other nodes end in one sink.
    """
    builder = TopologyBuilder("large", on_error="skip")
    source: Any = builder.add_source("in", IN)
    node = source
    for number in range(DEEP):
        node = builder.add_processor(f"deep-{number}", map_values(lambda v: v + 1), node)
    builder.add_sink("deep-out", out("deep"), node)
    wide = []
    for number in range(WIDE):
        supplier: Any = Total(number) if number < STORES else map_values(lambda v: -v)
        wide.append(builder.add_processor(f"wide-{number}", supplier, source))
    for number in range(EDGES):
        edge = f"edge-{number}"
        node = builder.repartition(edge, wide[number * 10], key=TEXT, value=INT64)
        for place in range(BELOW):
            node = builder.add_processor(f"{edge}-{place}", map_values(lambda v: v), node)
        builder.add_sink(f"{edge}-out", out(edge), node)
    builder.add_sink("wide-out", out("wide"), *wide)
    return builder.build()
