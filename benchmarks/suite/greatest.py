"""The second half of queries that ask for the greatest of each window, over all keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from benchmarks.suite.workload import Results
from kstreams import INT64, Node, Serde, Topic, TopologyBuilder, map_, timestamped_store
from kstreams.operators import reduce
from kstreams.windows import Windowed

__all__ = ("add_greatest", "without_closers")

V = TypeVar("V")
"""What the results of a key's windows are."""
Place = TypeVar("Place", bound=tuple[int, ...])
"""What is compared: a figure, then the auction."""


def add_greatest(
    builder: TopologyBuilder,
    results: Node[Windowed[str], V],
    place: Callable[[Windowed[str], V], Place],
    *,
    serde: Serde[Place],
    sink: str,
) -> None:
    """Write the greatest of each window's places to a topic, by the window's start.

    Args:
        builder: Takes the nodes.
        results: Each key's results.
        place: Makes of a result what is compared.
        serde: For places.
        sink: Name of the topic.
    """

    def of_window(key: Windowed[str], value: V) -> tuple[int, Place]:
        return key.start_ms, place(key, value)

    by_window: Any = builder.add_processor("of-window", map_(of_window), results)
    by_window = builder.repartition("by-window", by_window, key=INT64, value=serde)
    store = timestamped_store("greatest", key=INT64, value=serde)
    greatest: Any = builder.add_processor("greatest", reduce(max, store=store), by_window)
    builder.add_sink("greatest-out", Topic(sink, INT64, serde), greatest)


def without_closers(results: Results) -> Results:
    """Leave out the windows of the records that only move time: their auction is 0."""
    return {key: found for key, found in results.items() if found[0][1] > 0}
