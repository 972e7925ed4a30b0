"""The builder's loops: records that a topology sends to itself."""

from __future__ import annotations

from kstreams._types import K, V
from kstreams.errors import TopologyError
from kstreams.graph.building.builder_base import BuilderBase
from kstreams.graph.nodes import Loop, LoopEndNode, LoopNode, Node
from kstreams.partitioner import Partitioner
from kstreams.serde.base import Serde
from kstreams.serde.framed import plain_of
from kstreams.topic import partitioner_for

__all__ = ("LoopBuilder",)


class LoopBuilder(BuilderBase):
    """Adds loops: edges that carry records back to an earlier node, in the next batch."""

    def add_loop(
        self,
        name: str,
        *,
        key: Serde[K],
        value: Serde[V],
        max_hops: int = 100,
        partitioner: Partitioner | None = None,
    ) -> Loop[K, V]:
        """Return a node that forwards the records of a loop, which the topology sends to itself.

        The next batch, which starts immediately, reads the records that a batch writes to the loop.
        The tasks that own the keys read each record exactly once, and the records of one task keep
        their order. Loop records are merged by time with the group's other input, but only the
        other input advances stream time, which may pass a loop record during its hop. So windows
        below a loop need a grace as long as a hop may take; otherwise they drop the records as
        late. (In a group without other input, loop records do advance stream time.)

        A run to the end stops when its sources end and no loop has records.

        Args:
            name: Name of the loop, and of the node.
            key: Serde of the keys; the encoded key determines the partition.
            value: Serde of the values.
            max_hops: Maximum number of hops of a record and the records derived from it. A record
                with more hops is a `LoopError`, to which the builder's `on_error` applies: the
                record fails, is skipped, or becomes a dead letter. Records that a node holds until
                the end of a batch get the smallest number of hops in the batch.
            partitioner: The partitioner of the keys; None for the default, as for a `Topic`.

        Raises:
            TopologyError: `max_hops` is below 1.

        Source: goka's `Loop`, which uses a topic with at-least-once delivery.
        """
        if max_hops < 1:
            raise TopologyError(f"loop {name!r}: max_hops is {max_hops}, expected 1 or more")
        rule = partitioner_for(partitioner, key, f"loop {name!r}")
        self._add(LoopNode(name, plain_of(key), plain_of(value), rule, max_hops, self._on_error))
        return Loop(name, self)

    def close_loop(self, loop: Loop[K, V], *parents: Node[K, V]) -> None:
        """Write the records of nodes to a loop; call this method once for each loop.

        Args:
            loop: The result of `add_loop`.
            parents: The nodes that forward the records; at least one.

        Raises:
            TopologyError: `loop` is not a loop.
        """
        if not isinstance(loop, Loop):
            raise TopologyError(
                f"close_loop got a {type(loop).__name__}, not a loop",
                hint="pass the result of add_loop first, then the nodes that write to the loop.",
            )
        name = f"{loop.name}.close"
        node = self._nodes.get(loop.name) if loop.builder is self else None
        if not isinstance(node, LoopNode):
            self._problems.append(f"loop {loop.name!r} belongs to another builder")
        elif isinstance(self._nodes.get(name), LoopEndNode):
            self._problems.append(
                f"loop {loop.name!r} is closed twice: pass all nodes that write to it to one "
                f"close_loop(...)"
            )
        elif not parents:
            self._problems.append(
                f"loop {loop.name!r} is closed without nodes: pass the nodes that write to it"
            )
        else:
            self._add(LoopEndNode(name, node, self._names(name, parents)))
