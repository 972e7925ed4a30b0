"""Settings of embedded topics."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from typing_extensions import override

from kstreams.connection import Connection, TopicAdmin, TopicReader, TopicWriter
from kstreams.embedded.admin import EmbeddedAdmin
from kstreams.embedded.log import EmbeddedLog
from kstreams.embedded.reader import EmbeddedReader
from kstreams.embedded.writer import Batching, EmbeddedWriter
from kstreams.partitioner import MAX_PARTITIONS

__all__ = ("Embedded",)


@dataclass(frozen=True)
class Embedded(Connection):
    """Topics in a directory of this machine: for development, tests and single-node use.

    Implements `kstreams.connection.Connection`. Any number of processes may use the same
    directory at once. The first write to a missing topic creates it; a read of a missing topic
    raises `UnknownTopicError`.

    Args:
        root: Directory of the topics, on a local disk; stored as an absolute path, because
            executors have working directories of their own.
        default_partitions: Number of partitions of topics that a write creates.
        durable: Whether each append waits for the disk, so that a power failure cannot undo it.
            False saves about 0.5 ms per segment.
        batching: The limits at which the writer appends a segment.

    Raises:
        ValueError: The root is a URL, or the number of partitions is below 1 or above
            `MAX_PARTITIONS`.

    Example:
        >>> Embedded("/tmp/topics").default_partitions
        4
    """

    root: str | os.PathLike[str]
    default_partitions: int = 4
    durable: bool = True
    batching: Batching = field(default_factory=Batching)

    def __post_init__(self) -> None:
        """Check the arguments, and make the root absolute."""
        root = os.fspath(self.root)
        if "://" in root:
            raise ValueError(
                f"{root!r} is not a directory of this machine\n"
                "Hint: embedded topics need a local disk; across machines use Kafka(...)."
            )
        if not 1 <= self.default_partitions <= MAX_PARTITIONS:
            raise ValueError(
                f"default_partitions is {self.default_partitions:,}, "
                f"expected 1 to {MAX_PARTITIONS:,}"
            )
        object.__setattr__(self, "root", str(Path(root).absolute()))

    def log(self) -> EmbeddedLog:
        """Open the segments of the topics. Keep the result, because it caches listings."""
        return EmbeddedLog(Path(self.root), durable=self.durable)

    def ensure(self, topic: str) -> int:
        """Return a topic's partition count, after creating it if it is missing."""
        return self.log().ensure(topic, self.default_partitions).partitions

    @override
    def admin(self) -> TopicAdmin:
        return EmbeddedAdmin(self.log())

    @override
    def reader(self) -> TopicReader:
        return EmbeddedReader(self.log())

    def writer(self) -> TopicWriter:
        """Open a `TopicWriter`; close it after use."""
        return EmbeddedWriter(
            self.log(), default_partitions=self.default_partitions, batching=self.batching
        )
