"""What differs between kinds of topics, from a pipeline's point of view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from kstreams.batch.topic_io import TopicIO
from kstreams.checkpoint.plans import Slice
from kstreams.connection import TopicAdmin
from kstreams.graph.nodes import SourceNode
from kstreams.ids import TopicPartition
from kstreams.state.log.commits import Output

__all__ = ("Feed",)


class Feed(Protocol):
    """A pipeline's topics, seen from the driver."""

    @property
    def admin(self) -> TopicAdmin:
        """Return the administrative side."""
        ...

    @property
    def io(self) -> TopicIO:
        """Return the worker's side."""
        ...

    def slices(self, node: SourceNode, partition: int, start: int, stop: int) -> Iterable[Slice]:
        """Divide the records of a source's partition with `start <= offset < stop`."""
        ...

    def mean_bytes(self, place: TopicPartition, offset: int) -> float | None:
        """Return how large records of a partition are at an offset; None where it is not known.

        Args:
            place: The partition.
            offset: Of the next record to read.
        """
        ...

    def publish(self, outputs: Sequence[Output], batch: int) -> None:
        """Make a committed batch's output visible, if writing it was not enough."""
        ...
