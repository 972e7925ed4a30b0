"""An input of a table that several inputs update."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol

from kstreams._types import K, S, V
from kstreams.graph.nodes import Node, NodeHandle
from kstreams.record import Record

__all__ = ("Feed", "FeedSupplier", "feed")


@dataclass(frozen=True)
class Feed(Generic[K, S]):
    """An input of `TopologyBuilder.cogroup` with its update function; created by `feed`."""

    node: NodeHandle
    update: Callable[[Any, Record[Any, Any]], Any]


class FeedSupplier(Protocol[K, S]):
    """Creates a feed for `TopologyBuilder.cogroup`, which accepts this type instead of `Feed`.

    The type is a callable because type checkers infer callable arguments last: they then know the
    state type of the store, and infer the types of a lambda `update`.
    """

    def __call__(self) -> Feed[K, S]:
        """Return the feed."""
        ...


def feed(
    node: Node[K, V], update: Callable[[S | None, Record[K, V]], S | None]
) -> FeedSupplier[K, S]:
    """Define an input of `cogroup`, which updates the table's states with the records of a node.

    Args:
        node: The node that forwards the records.
        update: Returns the new state of the key, from the old state (None if there is no state) and
            the record; None deletes the state. The function must not modify the old state.

    Source: goka's `Input(topic, codec, callback)`.
    """
    made: Feed[K, S] = Feed(node, update)
    return lambda: made
