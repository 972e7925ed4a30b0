"""Feed a query from embedded topics, and publish what its tasks have staged."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from kstreams.batch.io.embedded.topic_io import EmbeddedIO, publish
from kstreams.checkpoint.planning.plans import Slice
from kstreams.connection import TopicEnds
from kstreams.embedded.admin import EmbeddedAdmin
from kstreams.embedded.connection import Embedded
from kstreams.graph.nodes import SourceNode
from kstreams.ids import TopicPartition
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import Commit

__all__ = ("EmbeddedFeed",)

_LOG = logging.getLogger(__name__)


class EmbeddedFeed:
    """A `Feed` on embedded topics: slices are parts of segments."""

    def __init__(self, connection: Embedded) -> None:
        self._log = connection.log()
        self.admin = EmbeddedAdmin(self._log)
        self.io = EmbeddedIO(connection)

    def known_ends(self, topic: str) -> TopicEnds:
        """Return the id and the end offsets of a topic."""
        return self.admin.ends(topic)

    def slices(self, node: SourceNode, partition: int, start: int, stop: int) -> Iterable[Slice]:
        """Yield one slice for each segment."""
        topic = node.topic.name
        for segment in self._log.segments(topic, partition, start):
            if segment.first_offset >= stop:
                return
            low, high = max(start, segment.first_offset), min(stop, segment.end_offset)
            yield Slice(node.name, topic, partition, low, high, segment.name)

    def mean_bytes(self, place: TopicPartition, offset: int) -> float | None:
        """Return the mean bytes of a record in the offset's segment; None without a segment."""
        for segment in self._log.segments(place.topic, place.partition, offset)[:1]:
            return self._log.stored_bytes(segment) / segment.count
        return None

    def prepare(self, publisher: str, topic: str, last: Commit | None) -> None:
        """Do nothing: files can always be published."""

    def publish(self, commit: Commit, objects: ObjectStore, check: Callable[[], None]) -> None:
        """Make a committed batch's output visible."""
        publish(self._log, commit.outputs, commit.batch)

    def close(self) -> None:
        """Do nothing, because there are no resources to release."""

    def sweep(self, producers: Iterable[str], *, older_than_ms: int) -> None:
        """Remove files that attempts have staged and that no commit names."""
        removed = self._log.sweep_staged(producers, older_than_ms=older_than_ms)
        if removed:
            _LOG.info("removed %d staged files of uncommitted attempts", removed)
