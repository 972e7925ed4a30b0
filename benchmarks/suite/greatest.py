"""The last part of some queries: the maximum of each window over the results of all keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from benchmarks.suite.workload import Results
from kstreams import INT64, Node, Serde, Topic, TopologyBuilder, map_, timestamped_store
from kstreams.operators import reduce
from kstreams.windows import Windowed

__all__ = ("add_greatest", "without_closers")

V = TypeVar("V")
"""Type of the windowed results of a key."""
Place = TypeVar("Place", bound=tuple[int, ...])
"""Type of the compared tuples: a number, then the auction."""


def add_greatest(
    builder: TopologyBuilder,
    results: Node[Windowed[str], V],
    place: Callable[[Windowed[str], V], Place],
    *,
    serde: Serde[Place],
    sink: str,
) -> None:
    """Write the maximum of each window to a topic, keyed by the window's start.

    Args:
        builder: The builder of the topology.
        results: The results of each key.
        place: Converts a result to a comparable tuple.
        serde: The serde of these tuples.
        sink: The name of the topic.
    """

    def of_window(key: Windowed[str], value: V) -> tuple[int, Place]:
        return key.start_ms, place(key, value)

    by_window: Any = builder.add_processor("of-window", map_(of_window), results)
    by_window = builder.repartition("by-window", by_window, key=INT64, value=serde)
    store = timestamped_store("greatest", key=INT64, value=serde)
    greatest: Any = builder.add_processor("greatest", reduce(max, store=store), by_window)
    builder.add_sink("greatest-out", Topic(sink, INT64, serde), greatest)


def without_closers(results: Results) -> Results:
    """Remove the windows of records that only advance stream time: their auction is 0."""
    return {key: found for key, found in results.items() if found[0][1] > 0}
