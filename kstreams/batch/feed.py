"""What differs between kinds of topics, from a query's point of view."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Protocol

from kstreams.batch.embedded.feed import EmbeddedFeed
from kstreams.batch.logs.feed import LogFeed, logs_of
from kstreams.batch.sink_publishing import publish_receipts
from kstreams.batch.sink_writers import sinks_of
from kstreams.batch.source_positions import SourcePositions
from kstreams.batch.topic_io import TopicIO
from kstreams.checkpoint.plans import Slice
from kstreams.connection import Connection
from kstreams.embedded.connection import Embedded
from kstreams.errors import CompileError
from kstreams.graph.nodes import SourceNode
from kstreams.graph.topology import Topology
from kstreams.ids import TopicPartition
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import Commit

__all__ = ("Feed", "feed_of", "publish_commit")


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


def feed_of(connection: Connection, sources: Iterable[SourceNode] = ()) -> Feed:
    """Return a feed from and to the topics of a connection, and from the logs of sources.

    Raises:
        CompileError: No app can run on it.
    """
    feed, logs = _feed_of_topics(connection), logs_of(sources)
    return LogFeed(feed, logs) if logs else feed


def _feed_of_topics(connection: Connection) -> Feed:
    if isinstance(connection, Embedded):
        return EmbeddedFeed(connection)
    from kstreams.batch.kafka.feed import KafkaFeed  # noqa: PLC0415
    from kstreams.kafka.options import Kafka  # noqa: PLC0415  # needs the extra `kafka`

    if isinstance(connection, Kafka):
        return KafkaFeed(connection)
    raise CompileError(f"an app cannot run on {connection!r}", hint="use Embedded or Kafka.")


def publish_commit(
    connection: Connection, topology: Topology, commit: Commit, objects: ObjectStore
) -> None:
    """Make a committed batch's output visible, where no query runs that has a feed.

    Args:
        connection: Where topics are.
        topology: Has the sinks that are no topics.
        commit: The batch's.
        objects: The durable log, which has what was staged there.
    """
    if commit.outputs or commit.staged:
        with closing(feed_of(connection)) as feed:
            feed.publish(commit, objects, lambda: None)
    sinks = [sinks_of(group) for group in topology.groups]
    publish_receipts({name: sink for own in sinks for name, sink in own.items()}, commit.receipts)
