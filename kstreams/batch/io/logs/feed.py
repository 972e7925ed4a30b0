"""Feed a query from logs, and from the topics of a connection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kstreams.batch.io.feed import Feed
from kstreams.batch.io.logs.positions import LogPositions
from kstreams.batch.io.logs.topic_io import LogIO
from kstreams.checkpoint.planning.plans import Slice
from kstreams.connection import TopicEnds
from kstreams.graph.nodes import SourceNode
from kstreams.ids import TopicPartition
from kstreams.log import Log
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import Commit

__all__ = ("LogFeed", "logs_of")


def logs_of(sources: Iterable[SourceNode]) -> dict[str, Log[Any, Any]]:
    """Return the logs of sources, by name."""
    return {node.topic.name: node.log for node in sources if node.log is not None}


class LogFeed:
    """A `Feed` for sources that are `Log` objects, such as files, or topics.

    Args:
        others: The feed that reads the topics and publishes all results.
        logs: The logs by name.
        reader: The id of the query that reads the logs.
    """

    def __init__(self, others: Feed, logs: Mapping[str, Log[Any, Any]], reader: str = "") -> None:
        self._others = others
        self._reader = reader
        self.admin = LogPositions(others.admin, logs)
        self.io = LogIO(others.io, dict(logs))

    def known_ends(self, topic: str) -> TopicEnds:
        """Return the id and the end offsets of a source.

        The end offsets of a log are cached for the interval `Log.look_every_s`.
        """
        log = self.admin.of(topic)
        if log is None:
            return self._others.known_ends(topic)
        return self.admin.known_ends(topic, log.look_every_s)

    def slices(self, node: SourceNode, partition: int, start: int, stop: int) -> Iterable[Slice]:
        """Divide a partition's records into slices, as their log or topic does."""
        log = self.admin.of(node.topic.name)
        if log is None:
            return self._others.slices(node, partition, start, stop)
        pieces = log.pieces(partition, start, stop)
        name = node.topic.name
        return [Slice(node.name, name, partition, p.start, p.stop, p.place) for p in pieces]

    def mean_bytes(self, place: TopicPartition, offset: int) -> float | None:
        """Return the mean bytes of a partition's records at an offset; None if unknown."""
        log = self.admin.of(place.topic)
        if log is None:
            return self._others.mean_bytes(place, offset)
        return log.mean_bytes(place.partition, offset)

    def prepare(self, publisher: str, topic: str, last: Commit | None) -> None:
        """Claim the logs for this query, so that older drivers fail, and prepare publishing."""
        self.admin.claim(self._reader)
        self._others.prepare(publisher, topic, last)

    def publish(self, commit: Commit, objects: ObjectStore, check: Callable[[], None]) -> None:
        """Publish the output of a committed batch, and let logs delete the committed records."""
        self._others.publish(commit, objects, check)
        self.admin.committed(commit.positions)

    def sweep(self, producers: Iterable[str], *, older_than_ms: int) -> None:
        """Remove the written but uncommitted output of failed attempts."""
        self._others.sweep(producers, older_than_ms=older_than_ms)

    def close(self) -> None:
        """Release the resources of logs and of the feed of topics."""
        self.admin.close()
        self._others.close()
