"""The worker's part of a connection: reading the input of a plan, writing the output of tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from kstreams.checkpoint.planning.plans import Slice
from kstreams.graph.topology import PartitionGroup
from kstreams.raw_batch import NO_LIMIT
from kstreams.state.log.commits import Output
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.records.queues import Queue
from kstreams.topic_limits import NO_LIMITS, TopicLimits

__all__ = ("BatchId", "TopicIO")


@dataclass(frozen=True)
class BatchId:
    """The id of a task's output in one batch; equal in each attempt and replay.

    Attributes:
        producer: The producer id of the task in this epoch.
        batch: The number of the batch.
        revision: The plan revision if the input, and so the output, may differ from that of the
            first plan; else 0.
    """

    producer: str
    batch: int
    revision: int = 0

    def prefix(self, sink: str) -> str:
        """Return the prefix of the ids of a sink's results."""
        number = f"{self.batch}.{self.revision}" if self.revision else str(self.batch)
        return f"{self.producer}/{sink}/{number}"


class TopicIO(ABC):
    """Reads and writes topics for tasks; picklable, opened in the worker when first used.

    An implementation that does not prefetch, stages no output, or has topics without limits
    inherits `read_ahead`, `staged` or `limits`.
    """

    @abstractmethod
    def read(self, slices: Sequence[Slice], *, max_bytes: int = NO_LIMIT) -> list[Queue]:
        """Read slices of a plan; return one queue for each, in order.

        Args:
            slices: The offset ranges to read.
            max_bytes: The maximum bytes of all queues together; a single record may have more.

        Raises:
            TooManyBytesError: The queues have more bytes; reading stops soon after the maximum.
            DataLossError: Records of a slice were deleted.
        """

    def read_ahead(self) -> None:  # noqa: B027  # optional
        """Prefetch the next slices in the background; by default, do nothing."""

    def limits(self, topic: str) -> TopicLimits:
        """Return the known limits of a topic; by default, there are none.

        Raises:
            UnknownTopicError: The topic does not exist, and writing does not create it.
        """
        return NO_LIMITS

    @abstractmethod
    def write(self, output: TaskOutput, group: PartitionGroup, batch: BatchId) -> Sequence[Output]:
        """Write the output of a batch durably, before the batch is committed.

        Args:
            output: The output of the task; results that topics reject now are counted in it.
            group: The group of the task, for the partitioners of the sinks.
            batch: The id of the output.

        Returns:
            The output to publish after the commit; empty if writing publishes it.
        """

    def staged(
        self, output: TaskOutput, group: PartitionGroup, batch: BatchId
    ) -> Iterable[tuple[str, pa.Table]]:
        """Return the output to keep in the durable log until the commit: sink names and rows.

        `write` with the same arguments does not write these rows. By default, there are none:
        `write` writes all rows.
        """
        return ()
