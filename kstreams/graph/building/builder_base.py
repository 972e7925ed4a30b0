"""The base class of the topology builder: collects nodes and problems, and adds processors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from kstreams._types import K2, V2, K, V
from kstreams.call_site import CallSite
from kstreams.errors import TopologyError
from kstreams.graph.nodes import (
    AnyNode,
    AnyProcessor,
    JoinNode,
    Node,
    NodeHandle,
    ProcessorNode,
)
from kstreams.graph.tokens import type_arguments
from kstreams.graph.window_emissions import placed_below
from kstreams.joins.join_processor import JoinProcessor
from kstreams.names import name_problem, shown_name
from kstreams.processors.on_error import OnError
from kstreams.processors.processor import BaseProcessor, BatchProcessor, Processor
from kstreams.processors.supplier import (
    keyed_stores_of,
    problems_of,
    stores_of,
    valued_stores_of,
)
from kstreams.state.stores.spec import StoreSpec

__all__ = ("BuilderBase",)


class BuilderBase:
    """Base class of builders; collects nodes and their problems.

    Args:
        name: Name of the topology.
        on_error: The policy for failed records, for sources and edges without a policy.
    """

    def __init__(self, name: str, on_error: OnError) -> None:
        self.name = name
        self._on_error: OnError = on_error
        self._nodes: dict[str, AnyNode] = {}
        self._problems: list[str] = []
        self._origin: CallSite | None = None

    @contextmanager
    def origin(self, origin: CallSite) -> Iterator[None]:
        """Set the origin, a file and a line, of the nodes that the `with` block adds.

        Problems of `build()`, errors of tasks, `Topology.describe()`, `kstreams explain` and
        telemetry show the origin. In nested blocks, the innermost origin counts. A node's state and
        its position in a checkpoint do not depend on its origin.

        Args:
            origin: The place of the call that defines the nodes.

        Example:
            >>> from kstreams import TEXT, Topic, TopologyBuilder
            >>> from kstreams.topology import CallSite
            >>> builder = TopologyBuilder("shop")
            >>> with builder.origin(CallSite("shop.py", 12)):
            ...     orders = builder.add_source("orders", Topic("orders", TEXT, TEXT))
        """
        before, self._origin = self._origin, origin
        try:
            yield
        except TopologyError as error:
            error.at(origin=str(origin))
            raise
        finally:
            self._origin = before

    def add_processor(
        self,
        name: str,
        supplier: Callable[[], BaseProcessor[K, V, K2, V2]],
        *parents: Node[K, V],
        stores: Sequence[StoreSpec[object]] = (),
        reads: Sequence[StoreSpec[object]] = (),
    ) -> Node[K2, V2]:
        """Add a processor, which processes the records of its parents.

        Args:
            name: Name of the node.
            supplier: Returns a new processor at each call: a class, or an operator such as
                `map_values(fn)`. This method calls it, too, to inspect the processor.
            parents: The nodes that forward the records; at least one.
            stores: Definitions of the stores that `context.store` may return, in addition to those
                in the supplier's attribute `stores`.
            reads: Stores of tables that `context.reader` may return. The table is then in the
                node's partition group: a record can look up its own key, and other keys of its
                partition.

        Raises:
            TopologyError: The supplier returns no processor, or returns the same one twice.
        """
        supplier = placed_below(supplier, self._nodes, parents)
        return self._add(self._processor(name, supplier, parents, stores=stores, reads=reads))

    def _processor(
        self,
        name: str,
        supplier: Callable[[], object],
        parents: Sequence[NodeHandle],
        *,
        stores: Sequence[StoreSpec[object]] = (),
        reads: Sequence[StoreSpec[object]] = (),
        makes_table: bool = False,
    ) -> ProcessorNode:
        """Create a node that runs processors with one input."""
        probe = _probe(name, supplier, (Processor, BatchProcessor))
        batch = isinstance(probe, BatchProcessor)
        base: type = BatchProcessor if batch else Processor
        k_in, v_in, k_out, v_out = type_arguments(type(probe), base)
        self._problems.extend(f"node {name!r}: {text}" for text in problems_of(supplier))
        return ProcessorNode(
            name,
            cast("Callable[[], AnyProcessor]", supplier),
            self._names(name, parents),
            stores_of(name, supplier, stores),
            keeps_key=type(probe).keeps_key,
            batch=batch,
            types_in=(k_in, v_in),
            types_out=(k_out, v_out),
            reads=tuple(reads),
            makes_table=makes_table,
            keyed=keyed_stores_of(supplier),
            valued=valued_stores_of(supplier),
        )

    def _joining(
        self,
        name: str,
        supplier: Callable[[], object],
        left: NodeHandle,
        right: NodeHandle,
        *,
        stores: Sequence[StoreSpec[object]] = (),
        reads: Sequence[StoreSpec[object]] = (),
    ) -> JoinNode:
        """Create a node that runs processors with two inputs."""
        probe = _probe(name, supplier, (JoinProcessor,))
        key, v_left, v_right, k_out, v_out = type_arguments(type(probe), JoinProcessor)
        self._problems.extend(f"node {name!r}: {text}" for text in problems_of(supplier))
        return JoinNode(
            name,
            cast("Callable[[], AnyProcessor]", supplier),
            self._names(name, (left, right)),
            stores_of(name, supplier, stores),
            keeps_key=type(probe).keeps_key,
            batch=False,
            types_in=(key, v_left),
            types_out=(k_out, v_out),
            reads=tuple(reads),
            keyed=keyed_stores_of(supplier),
            ports=(left.name, right.name),
            types_right=(key, v_right),
        )

    def _names(self, name: str, parents: Sequence[NodeHandle]) -> tuple[str, ...]:
        if not parents:
            self._problems.append(f"node {name!r} has no parents")
        for parent in parents:
            if not isinstance(parent, Node):
                raise TopologyError(
                    f"a parent of node {name!r} is a {type(parent).__name__}, not a node",
                    hint="pass the result of add_source, add_processor or repartition.",
                )
            if parent.builder is not self:
                self._problems.append(
                    f"node {name!r}: parent {parent.name!r} belongs to another builder"
                )
        return tuple(dict.fromkeys(parent.name for parent in parents))

    def _add(self, node: AnyNode) -> Node[Any, Any]:
        if problem := name_problem(node.name):
            self._problems.append(f"{shown_name(node.name)} cannot name a node: {problem}")
        if node.name in self._nodes:
            again = "" if self._origin is None else f", again at {self._origin}"
            self._problems.append(f"two nodes are named {node.name!r}{again}")
        else:
            self._nodes[node.name] = replace(node, origin=self._origin)
        return Node(node.name, self)


def _probe(name: str, supplier: Callable[[], object], wanted: tuple[type, ...]) -> AnyProcessor:
    """Call a supplier once, and return its processor for inspection.

    Args:
        name: Name of the node, for errors.
        supplier: The function or class that returns a processor.
        wanted: The accepted classes of processors.

    Raises:
        TopologyError: The supplier is no function, or returns an object of another class.
    """
    hint = "pass the class itself or a function that returns a new processor."
    if not callable(supplier):
        raise TopologyError(
            f"the supplier of node {name!r} is a {type(supplier).__name__}, not a function",
            hint=hint,
        )
    probe = supplier()
    if not isinstance(probe, wanted):
        raise TopologyError(
            f"the supplier of node {name!r} made a {type(probe).__name__}, not a processor "
            f"({' or '.join(each.__name__ for each in wanted)})",
            hint=hint,
        )
    if supplier() is probe:
        raise TopologyError(
            f"the supplier of node {name!r} returns the same processor at each call", hint=hint
        )
    return cast("AnyProcessor", probe)
