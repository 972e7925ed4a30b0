"""The base of streams: nodes of the builder, and repartition edges where steps need them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kstreams._types import K2, V2, K, V
from kstreams.graph.nodes import Node
from kstreams.partitioner import Partitioner
from kstreams.processors.processor import BaseProcessor
from kstreams.serde.base import Serde
from kstreams.stored_names import dashed, kebab
from kstreams.streams.facts import Facts
from kstreams.streams.functions import name_of
from kstreams.streams.part import Part
from kstreams.streams.plan import FreeName, Plan
from kstreams.streams.serdes import KnownSerde, needed_each
from kstreams.topic import default_partitioner

if TYPE_CHECKING:
    from kstreams.streams.stream import Stream

__all__ = ("StreamBase",)

_Place = tuple[Serde[Any], Partitioner, int | None]
"""The key serde, partitioner and partition count of an edge."""


class StreamBase(Part[K, V]):
    """Records of a topic, or the results of steps.

    Args:
        plan: The plan of the topology.
        facts: The properties of the stream.
        node: Returns the builder's node.
    """

    def __init__(self, plan: Plan, facts: Facts, node: Callable[[], Node[K, V]]) -> None:
        super().__init__(plan, facts)
        self._node = node
        self._edges: list[tuple[_Place, Stream[K, V]]] = []

    def _take(self) -> Callable[[], Node[K, V]]:
        """Return the function that returns the node, and record that the stream is used."""
        self._plan.unused.pop(self, None)
        return self._node

    def _stream(
        self, facts: Facts, make: Callable[[], Node[K2, V2]], *, must: bool = True
    ) -> Stream[K2, V2]:
        """Return a stream of a new node.

        Args:
            facts: The properties of the stream.
            make: Adds the node to the builder.
            must: Whether it is a problem of the build if nothing uses the stream.
        """
        from kstreams.streams.stream import Stream  # noqa: PLC0415  # a stream has these methods

        stream = Stream(self._plan, facts, self._plan.later(make))
        if must:
            self._plan.unused[stream] = facts.call
        return stream

    def _then(
        self,
        name: str | FreeName,
        supplier: Callable[[], BaseProcessor[K, V, K2, V2]],
        facts: Facts,
        *,
        must: bool = True,
    ) -> Stream[K2, V2]:
        """Add a processor."""
        parent, plan = self._take(), self._plan
        return self._stream(
            facts, lambda: plan.builder.add_processor(str(name), supplier, parent()), must=must
        )

    def _kept(
        self,
        operation: str,
        function: object,
        supplier: Callable[[], BaseProcessor[K, V, K, V2]],
        call: str,
        *,
        must: bool = True,
        **changes: Any,  # noqa: ANN401  # of several types
    ) -> Stream[K, V2]:
        """Add a processor that keeps the keys; `changes` are changed attributes of `Facts`."""
        name = self._free(operation, "" if function is None else name_of(function))
        return self._then(name, supplier, self._facts.after(call, **changes), must=must)

    def _by_key(self, call: str, other: Facts | None = None) -> StreamBase[K, V]:
        """Return the stream whose equal keys are in one task: this stream, or an edge below it.

        Args:
            call: The call that needs such a stream.
            other: The other side of a join; an edge then has its key serde and partitioner.
        """
        facts = self._facts
        if not facts.moved:
            return self
        if other is not None and isinstance(other.key, Serde):
            return self._edge(call, other.key, other.partitioner)
        return self._edge(call, facts.key, None)

    def _in_time(self, call: str, other: Facts | None = None) -> StreamBase[K, V]:
        """Return the stream as `_by_key`, with a stream time that follows its records.

        Results of windows need an edge: a task below it has the stream time of these results.

        Args:
            call: The call that needs such a stream.
            other: The other side of a join. If it needs no edge, an edge has its key serde and
                partitioner.
        """
        stream = self._by_key(call, other)
        if not stream._facts.delayed:
            return stream
        if other is not None and not other.delayed and isinstance(other.key, Serde):
            return stream._edge(call, other.key, other.partitioner)
        return stream._edge(call, stream._facts.key, None)

    def _edge(
        self,
        call: str,
        key: KnownSerde,
        partitioner: Partitioner | None,
        partitions: int | None = None,
        *,
        owner: str = "",
    ) -> Stream[K, V]:
        """Return the stream below a repartition edge, which is created at the first call.

        Args:
            call: The call that needs the edge.
            key: The serde of the edge's keys.
            partitioner: The partitioner of the edge; None for the default of the serde.
            partitions: The partition count of the edge; None for the default.
            owner: The call that names the edge; by default the call that created the stream.
        """
        facts, plan = self._facts, self._plan
        serdes = needed_each({"key": key, "value": facts.value}, call)
        found, value = serdes["key"], serdes["value"]
        default = default_partitioner(found)
        place = (found, partitioner or default, partitions)
        for known, stream in self._edges:
            if known == place:
                return stream
        differs = isinstance(facts.key, Serde) and found != facts.key
        parts = [found.name if differs else "", place[1].name if place[1] != default else ""]
        name = dashed(facts.label, *map(kebab, parts), "repartition")
        own = plan.owned(name, owner or f"the repartition of {facts.call}")
        parent = self._take()
        options: dict[str, Any] = {"partitions": partitions, "partitioner": partitioner}
        options |= {"nulls": "pass"} if facts.nulls else {}
        options |= {"null_keys": "pass"} if facts.null_keys else {}

        def make() -> Node[K, V]:
            add: Any = plan.builder.repartition  # without its overloads
            node: Node[K, V] = add(own, parent(), key=found, value=value, **options)
            return node

        below = replace(facts, key=found, moved=False, delayed=False, partitioner=place[1])
        moved = self._stream(below, make, must=False)
        self._edges.append((place, moved))
        return moved
