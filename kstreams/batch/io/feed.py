"""The interface through which the driver plans the input of a query and publishes its output."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, runtime_checkable

from kstreams.batch.io.source_positions import SourcePositions
from kstreams.batch.io.topic_io import TopicIO
from kstreams.checkpoint.planning.plans import Slice
from kstreams.connection import TopicEnds
from kstreams.graph.nodes import SourceNode
from kstreams.ids import TopicPartition
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import Commit

__all__ = ("Feed", "HasFeed")


class Feed(Protocol):
    """A query's input and output, seen from the driver."""

    @property
    def admin(self) -> SourcePositions:
        """Return the start and end positions of the sources."""
        ...

    @property
    def io(self) -> TopicIO:
        """Return the reader and writer of topics for the workers."""
        ...

    def known_ends(self, topic: str) -> TopicEnds:
        """Return the id and the end of a source; a recent result, if a request is expensive."""
        ...

    def slices(self, node: SourceNode, partition: int, start: int, stop: int) -> Iterable[Slice]:
        """Divide the records of a source's partition with `start <= offset < stop` into slices."""
        ...

    def mean_bytes(self, place: TopicPartition, offset: int) -> float | None:
        """Return the mean bytes of a partition's records at an offset; None if the size is unknown.

        Args:
            place: A partition of a source.
            offset: The next offset to read.
        """
        ...

    def prepare(self, publisher: str, topic: str, last: Commit | None) -> None:
        """Prepare publishing, before the first batch of a run.

        Args:
            publisher: The id under which the query publishes staged output.
            topic: A topic that the query reads or writes; empty if no topic is known.
            last: The last commit; None before the first commit.

        Raises:
            KStreamsError: Nothing can be published.
        """
        ...

    def publish(self, commit: Commit, objects: ObjectStore, check: Callable[[], None]) -> None:
        """Publish the output of a committed batch that tasks did not publish; may be repeated.

        Args:
            commit: The commit of the batch.
            objects: The durable log, with staged output.
            check: Raises `FencedError` if a newer driver owns the checkpoint.
        """
        ...

    def sweep(self, producers: Iterable[str], *, older_than_ms: int) -> None:
        """Remove the written but uncommitted output of failed attempts, if there may be any.

        Called when all committed output is published, and no batch of these producers runs.

        Args:
            producers: The producer ids of the query's tasks.
            older_than_ms: Unfinished writes of other producers before this time, ms since the
                epoch, are removed, too.
        """
        ...

    def close(self) -> None:
        """Release the resources of publishing."""
        ...


@runtime_checkable
class HasFeed(Protocol):
    """A connection that an app can run on, because it feeds queries."""

    def feed(self) -> Feed:
        """Open the feed of the connection's topics."""
        ...
