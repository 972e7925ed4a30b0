"""What differs between kinds of sources and topics, from a query's point of view."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from kstreams.batch.source_positions import SourcePositions
from kstreams.batch.topic_io import TopicIO
from kstreams.checkpoint.planning.plans import Slice
from kstreams.connection import TopicEnds
from kstreams.graph.nodes import SourceNode
from kstreams.ids import TopicPartition
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import Commit

__all__ = ("Feed",)


class Feed(Protocol):
    """A query's input and output, seen from the driver."""

    @property
    def admin(self) -> SourcePositions:
        """Return what tells where sources begin and end."""
        ...

    @property
    def io(self) -> TopicIO:
        """Return the worker's side."""
        ...

    def known_ends(self, topic: str) -> TopicEnds:
        """Return where a source ends, or ended a little while ago, where asking is dear."""
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

    def prepare(self, publisher: str, topic: str, last: Commit | None) -> None:
        """Get ready to publish, before the first batch of a run.

        Args:
            publisher: Id of the query's batches.
            topic: One that the query reads, or writes; empty where none is known.
            last: The last commit; None before any.

        Raises:
            KStreamsError: Nothing can be published.
        """
        ...

    def publish(self, commit: Commit, objects: ObjectStore, check: Callable[[], None]) -> None:
        """Make a committed batch's output visible, if writing it was not enough; may be repeated.

        Args:
            commit: The batch's.
            objects: The durable log, which has what was staged there.
            check: Raises `FencedError` where a newer driver runs the app.
        """
        ...

    def sweep(self, producers: Iterable[str], *, older_than_ms: int) -> None:
        """Remove what attempts have left that do not count, where they can leave anything.

        Called when all is published that counts, and no batch of these producers runs.

        Args:
            producers: Ids of the query's tasks, as writers.
            older_than_ms: What others had begun before this time, ms since the epoch, and not
                finished, goes too.
        """
        ...

    def close(self) -> None:
        """Let go of what publishing holds."""
        ...
