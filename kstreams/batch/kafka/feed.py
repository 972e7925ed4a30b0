"""Feed a pipeline from Kafka: tasks read and write it themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from kstreams.batch.kafka.io import KafkaIO
from kstreams.checkpoint.plans import Slice
from kstreams.graph.nodes import SourceNode
from kstreams.ids import TopicPartition
from kstreams.kafka.admin import KafkaAdmin
from kstreams.kafka.options import Kafka
from kstreams.state.log.commits import Output

__all__ = ("KafkaFeed",)

_PATIENCE = timedelta(seconds=60)
"""How long the cluster may be away before the app fails."""


class KafkaFeed:
    """A `Feed` on Kafka topics: a slice is a range of offsets."""

    def __init__(self, connection: Kafka) -> None:
        self.admin = KafkaAdmin(connection.client_options("admin"), timeout=_PATIENCE)
        self.io = KafkaIO(connection)

    def slices(self, node: SourceNode, partition: int, start: int, stop: int) -> Iterable[Slice]:
        """Yield the range."""
        yield Slice(node.name, node.topic.name, partition, start, stop)

    def mean_bytes(self, place: TopicPartition, offset: int) -> float | None:  # not known
        """Return None: it is not known before they are read."""
        return None

    def publish(self, outputs: Sequence[Output], batch: int) -> None:
        """Do nothing: what tasks write is seen at once."""

    def sweep(self, producers: Iterable[str], *, older_than_ms: int) -> None:
        """Do nothing: what was written stays, and has the id of what is written again."""
