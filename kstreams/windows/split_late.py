"""Records that come after their window has closed, as a stream of their own."""

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
    """Add a windowed aggregation with two outputs: its results, and what came too late.

    A late record comes once for each window that refused it (once in all, for sliding
    windows and sessions), and is still counted as dropped for the reason `late`.

    Args:
        builder: Where it is added.
        name: Name of the aggregation; the outputs are `<name>.results`, `<name>.late`.
        supplier: What `windowed_aggregate` returned.
        parents: Where the records come from.

    Source: departs from Kafka Streams, which only counts late records.
    """
    routes = Routes(f"{name}.results", f"{name}.late")
    root: Node[Any, Any] = builder.add_processor(name, supplier.routed(routes), *parents)
    results: Node[Windowed[K], A] = builder.add_processor(
        routes.results, PassThrough[Windowed[K], A], root
    )
    late: Node[K, Late[V]] = builder.add_processor(routes.late, _LateRecords[K, V], root)
    return results, late


class _LateRecords(PassThrough[K, Late[V]], Generic[K, V]):
    """Forwards late records: under the keys that came in, not the windowed keys of results."""

    keeps_key: ClassVar[bool] = False
