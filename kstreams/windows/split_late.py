"""Split the late records of a windowed aggregation into a separate stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from kstreams._types import K, V
from kstreams.processors.branch import PassThrough
from kstreams.windowed import Windowed
from kstreams.windows.late import Late
from kstreams.windows.plan import Routes
from kstreams.windows.supplier import WindowedSupplier

if TYPE_CHECKING:
    from kstreams.graph.building.builder import TopologyBuilder
    from kstreams.graph.nodes import Node

__all__ = ("split_late",)

A = TypeVar("A")
"""Type of the results."""


def split_late(
    builder: TopologyBuilder,
    name: str,
    supplier: WindowedSupplier[K, V, A],
    *parents: Node[K, V],
) -> tuple[Node[Windowed[K], A], Node[K, Late[V]]]:
    """Add a windowed aggregation with two outputs: its results and its late records.

    A late record is forwarded once for each window that rejected it (once in total for sliding
    windows and sessions), and is still counted as dropped for the reason `late`.

    Args:
        builder: The builder of the topology.
        name: The name of the aggregation; the outputs are `<name>.results` and `<name>.late`.
        supplier: The result of `windowed_aggregate`.
        parents: The input nodes.

    Source: differs from Kafka Streams, which only counts late records.
    """
    routes = Routes(f"{name}.results", f"{name}.late")
    root: Node[Any, Any] = builder.add_processor(name, supplier.routed(routes), *parents)
    results: Node[Windowed[K], A] = builder.add_processor(
        routes.results, PassThrough[Windowed[K], A], root
    )
    late: Node[K, Late[V]] = builder.add_processor(routes.late, _LateRecords[K, V], root)
    return results, late


class _LateRecords(PassThrough[K, Late[V]], Generic[K, V]):
    """Forwards late records under their original keys, not the windowed keys of results."""

    keeps_key: ClassVar[bool] = False
