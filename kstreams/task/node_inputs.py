"""The inputs of nodes: a node has one input, named like the node; a join has two."""

from __future__ import annotations

import pyarrow as pa

from kstreams.graph.nodes import AnyNode, JoinNode
from kstreams.processors.columns import ColumnJoinProcessor

__all__ = ("inputs_of", "join_tables", "no_input", "sides")


def sides(join: str) -> tuple[str, str]:
    """Return the names of a join's inputs."""
    return f"{join}\0left", f"{join}\0right"


def inputs_of(node: AnyNode, parent: str) -> list[str]:
    """Return the names of the inputs of a node that a parent forwards to."""
    if not isinstance(node, JoinNode):
        return [node.name]
    pairs = zip(sides(node.name), node.ports, strict=True)
    return [side for side, port in pairs if port == parent]


def join_tables(
    processor: ColumnJoinProcessor, lefts: list[pa.Table], rights: list[pa.Table]
) -> None:
    """Pass the tables of both inputs to a join, and run the join."""
    for table in lefts:
        processor.take_left(table)
    for table in rights:
        processor.take_right(table)
    processor.join()


def no_input(_: object) -> None:
    """Ignore a record of an input whose rows the join reads from a store."""
