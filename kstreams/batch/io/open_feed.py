"""Opens the feed of an app's connection and logs."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from kstreams.batch.io.embedded.feed import EmbeddedFeed
from kstreams.batch.io.feed import Feed, HasFeed
from kstreams.batch.io.logs.feed import LogFeed, logs_of
from kstreams.batch.io.sink_publishing import publish_receipts
from kstreams.batch.io.sink_writers import sinks_of
from kstreams.connection import Connection
from kstreams.embedded.connection import Embedded
from kstreams.errors import CompileError
from kstreams.graph.nodes import SourceNode
from kstreams.graph.topology import Topology
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import Commit

__all__ = ("check_connection", "feed_of", "publish_commit")


def feed_of(
    connection: Connection, sources: Iterable[SourceNode] = (), *, reader: str = ""
) -> Feed:
    """Return the feed of a connection's topics and of the logs of sources.

    Args:
        connection: The connection of the topics.
        sources: The sources of the query, some of which may be logs.
        reader: The id of the query that reads logs.

    Raises:
        CompileError: The connection does not support apps.
    """
    feed, logs = _feed_of_topics(connection), logs_of(sources)
    return LogFeed(feed, logs, reader) if logs else feed


def _feed_of_topics(connection: Connection) -> Feed:
    if isinstance(connection, Embedded):
        return EmbeddedFeed(connection)
    if isinstance(connection, HasFeed):
        return connection.feed()
    raise _unknown(connection)


def check_connection(connection: object) -> None:
    """Check that an app can run on a connection.

    Raises:
        CompileError: The connection is neither embedded nor has a feed, as `Kafka` has; the error
            names its class.
    """
    if not isinstance(connection, Embedded | HasFeed):
        raise _unknown(connection)


def _unknown(connection: object) -> CompileError:
    kind = type(connection)
    return CompileError(
        f"an app cannot run on a connection of class {kind.__module__}.{kind.__qualname__}",
        hint="pass Embedded(...) or Kafka(...). For another place, implement a "
        "kstreams.sources.Log to read it and a kstreams.sinks.Sink to write to it.",
    )


def publish_commit(
    connection: Connection, topology: Topology, commit: Commit, objects: ObjectStore
) -> None:
    """Publish the output of a committed batch without a running query.

    Args:
        connection: The connection of the topics.
        topology: The topology, for sinks other than topics.
        commit: The commit of the batch.
        objects: The durable log, with staged output.
    """
    if commit.outputs or commit.staged:
        with closing(feed_of(connection)) as feed:
            feed.publish(commit, objects, lambda: None)
    sinks = [sinks_of(group) for group in topology.groups]
    publish_receipts({name: sink for own in sinks for name, sink in own.items()}, commit.receipts)
