"""The builder's repartition edges: records move to the tasks that own their keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

from kstreams._types import K, V
from kstreams.errors import TopologyError
from kstreams.graph.building.builder_base import BuilderBase
from kstreams.graph.nodes import Node, RepartitionNode
from kstreams.key_part import edge_partitioner
from kstreams.options import checks_options
from kstreams.partitioner import Partitioner, count_problem
from kstreams.serde.base import Serde
from kstreams.serde.framed import plain_of
from kstreams.topic import Nulls, partitioner_for

__all__ = ("RepartitionBuilder",)


class RepartitionBuilder(BuilderBase):
    """Adds repartition edges."""

    @overload
    def repartition(
        self,
        name: str,
        *parents: Node[K, V],
        key: Serde[K],
        value: Serde[V],
        nulls: Literal["drop"] = ...,
        null_keys: Literal["drop"] = ...,
        partitions: int | None = ...,
        partitioner: Partitioner | None = ...,
        partition_by: Callable[[K], object] | None = ...,
    ) -> Node[K, V]: ...
    @overload
    def repartition(
        self,
        name: str,
        *parents: Node[K, V | None],
        key: Serde[K],
        value: Serde[V],
        nulls: Literal["pass"],
        null_keys: Literal["drop"] = ...,
        partitions: int | None = ...,
        partitioner: Partitioner | None = ...,
        partition_by: Callable[[K], object] | None = ...,
    ) -> Node[K, V | None]: ...
    @overload
    def repartition(
        self,
        name: str,
        *parents: Node[K | None, V],
        key: Serde[K],
        value: Serde[V],
        nulls: Literal["drop"] = ...,
        null_keys: Literal["pass"],
        partitions: int | None = ...,
        partitioner: Partitioner | None = ...,
        partition_by: Callable[[K], object] | None = ...,
    ) -> Node[K | None, V]: ...
    @overload
    def repartition(
        self,
        name: str,
        *parents: Node[K | None, V | None],
        key: Serde[K],
        value: Serde[V],
        nulls: Literal["pass"],
        null_keys: Literal["pass"],
        partitions: int | None = ...,
        partitioner: Partitioner | None = ...,
        partition_by: Callable[[K], object] | None = ...,
    ) -> Node[K | None, V | None]: ...
    @checks_options
    def repartition(
        self,
        name: str,
        *parents: Node[Any, Any],
        key: Serde[Any],
        value: Serde[Any],
        nulls: Nulls = "drop",
        null_keys: Nulls = "drop",
        partitions: int | None = None,
        partitioner: Partitioner | None = None,
        partition_by: Callable[[Any], object] | None = None,
    ) -> Node[Any, Any]:
        """Move records to the tasks that own their keys, within one micro-batch.

        Add it below a node that changes the key, and above the next node with a store.

        Args:
            name: The name of the edge.
            parents: The nodes that forward the records.
            key: The serde of the keys; its bytes determine the partition.
            value: The serde of the values.
            nulls: `"pass"` permits values that may be None, such as deletions, in the edge's types.
            null_keys: `"pass"` permits keys that may be None in the edge's types. A record without
                a key belongs to no partition: these records are distributed round-robin. Nodes with
                a store drop them as `null-key`; other nodes forward them. With `"drop"`, the
                default, `build()` rejects parents whose keys may be None; a None that the types do
                not show is still forwarded, not dropped.
            partitions: The number of tasks of the downstream group; None: the partition count of
                its source topics, or else the number of tasks of the upstream group.
            partitioner: Chooses the partition of a key; None for the default, as for a `Topic`.
            partition_by: Returns the part of a key that determines its partition; see
                `kstreams.io.partition_by_part`.

        Raises:
            TopologyError: `partitions` is below 1 or above `MAX_PARTITIONS`, or the edge has both
                `partitioner` and `partition_by`.

        Source: `KStream#repartition`; null keys as since KIP-962, `partition_by` as KIP-759.
        """
        problem = None if partitions is None else count_problem(partitions)
        if problem:
            raise TopologyError(f"repartition {name!r}: {problem}")
        place, own = f"repartition {name!r}", plain_of(key)
        chosen = edge_partitioner(partitioner, partition_by, own, place)
        rule = partitioner_for(chosen, key, place)
        node = RepartitionNode(
            name,
            self._names(name, parents),
            own,
            plain_of(value),
            partitions,
            rule,
            self._on_error,
            nulls,
            null_keys=null_keys,
        )
        return self._add(node)
