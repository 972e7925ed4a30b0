"""Records that come after their window has closed, as a stream of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from kstreams._types import K, V
from kstreams.processors.branch import PassThrough
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.windowed import Windowed

if TYPE_CHECKING:
    from kstreams.graph.builder import TopologyBuilder
    from kstreams.graph.nodes import Node
    from kstreams.windows.supplier import WindowedSupplier

__all__ = ("Late", "LateCall", "Routes", "late_call", "split_late")

A = TypeVar("A")
"""Type of the results."""

LateCall = Callable[[Record[Any, Any], int, int], None]
"""Takes a refused record, and start and end (ms) of the window that refused it."""


@dataclass(frozen=True)
class Late(Generic[V]):
    """A value that a closed window refused.

    Args:
        value: The value.
        start_ms: Start of the window, ms since the epoch.
        end_ms: End of the window.
        stream_time_ms: Stream time when the record came, or as of which windows had been
            closed early, if that is later.
        lateness_ms: How long ago, by that time, the window closed.
    """

    value: V
    start_ms: int
    end_ms: int
    stream_time_ms: int
    lateness_ms: int


@dataclass(frozen=True)
class Routes:
    """Names of the children that take results, and late records."""

    results: str
    late: str


def late_call(
    context: ProcessorContext[Any, Any], close_delay_ms: int, routes: Routes | None
) -> LateCall:
    """Return what is called with a refused record: it counts it as `late`, and routes it."""
    drop = context.drop
    if routes is None:
        return lambda _record, _start, _end: drop("late")
    target, forward_to = routes.late, context.forward_to

    def late(record: Record[Any, Any], start: int, end: int) -> None:
        drop("late")
        now = context.stream_time
        value = Late(record.value, start, end, now, now - end - close_delay_ms)
        forward_to(target, record.with_value(value))

    return late


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
