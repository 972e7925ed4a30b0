"""One input of a table that several inputs change."""

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
    """An input of `TopologyBuilder.cogroup`, and what its records do; made by `feed`."""

    node: NodeHandle
    update: Callable[[Any, Record[Any, Any]], Any]


class FeedSupplier(Protocol[K, S]):
    """Makes a feed. Checkers infer arguments that are callable last, so also their lambdas."""

    def __call__(self) -> Feed[K, S]:
        """Return the feed."""
        ...


def feed(
    node: Node[K, V], update: Callable[[S | None, Record[K, V]], S | None]
) -> FeedSupplier[K, S]:
    """Let the records of a node change the states of a `cogroup`.

    Args:
        node: Where the records come from.
        update: Of the state that the record's key has (None: none) and the record makes the
            new one; None deletes it. It must not change the old one.

    Source: goka's `Input(topic, codec, callback)`.
    """
    made: Feed[K, S] = Feed(node, update)
    return lambda: made
