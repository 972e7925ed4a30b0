"""The part of the builder that makes loops: what a topology sends itself."""

from __future__ import annotations

from kstreams._types import K, V
from kstreams.errors import TopologyError
from kstreams.graph.builder_base import BuilderBase
from kstreams.graph.nodes import Loop, LoopEndNode, LoopNode, Node
from kstreams.partitioner import Partitioner
from kstreams.serde.base import Serde
from kstreams.serde.framed import plain_of
from kstreams.topic import default_partitioner

__all__ = ("LoopBuilder",)


class LoopBuilder(BuilderBase):
    """Adds loops: edges that lead back, into the next batch."""

    def add_loop(
        self,
        name: str,
        *,
        key: Serde[K],
        value: Serde[V],
        max_hops: int = 100,
        partitioner: Partitioner | None = None,
    ) -> Loop[K, V]:
        """Read what the topology sends itself: a node to hang others below.

        What is written to the loop in one batch is read in the next one, which is begun at
        once, by the tasks that own the keys; exactly once, whatever fails. The records of one
        task keep their order. Merged by time with the group's other input, they come behind
        what has moved on since: they do not move stream time, so windows below a loop need a
        grace of what a hop may take, or drop them as late. (In a group that has no other
        input, a loop's records do move stream time.)

        A run to the end ends when its sources do and nothing is left in any loop.

        Args:
            name: Name of the loop, and of the node.
            key: Serde of the keys; its bytes decide the partition.
            value: Serde of the values.
            max_hops: How many times what comes of one record may go round. One hop more is a
                `LoopError`, which goes by the builder's `on_error`: the record's failure, or
                it is skipped, or set aside. What is held back to the end of a batch counts as
                the least travelled record of its batch.
            partitioner: Which partition a key belongs to; None as for a `Topic`.

        Raises:
            TopologyError: `max_hops` is below 1.

        Source: goka's `Loop`, which goes by a topic, at least once.
        """
        if max_hops < 1:
            raise TopologyError(f"loop {name!r}: max_hops is {max_hops}, and at least 1")
        rule = partitioner or default_partitioner(key)
        self._add(LoopNode(name, plain_of(key), plain_of(value), rule, max_hops, self._on_error))
        return Loop(name, self)

    def close_loop(self, loop: Loop[K, V], *parents: Node[K, V]) -> None:
        """Write what some nodes forward to a loop; once for each loop.

        Args:
            loop: What `add_loop` returned.
            parents: Where the records come from; at least one.

        Raises:
            TopologyError: `loop` is no loop.
        """
        if not isinstance(loop, Loop):
            raise TopologyError(
                f"close_loop got a {type(loop).__name__}, not a loop",
                hint="pass what add_loop returned first, then the nodes that write to it.",
            )
        name = f"{loop.name}.close"
        node = self._nodes.get(loop.name) if loop.builder is self else None
        if not isinstance(node, LoopNode):
            self._problems.append(f"loop {loop.name!r} is another builder's")
        elif isinstance(self._nodes.get(name), LoopEndNode):
            self._problems.append(
                f"loop {loop.name!r} is closed twice: pass all its parents to one close_loop"
            )
        elif not parents:
            self._problems.append(f"loop {loop.name!r} is closed with nothing: pass its parents")
        else:
            self._add(LoopEndNode(name, node, self._names(name, parents)))
