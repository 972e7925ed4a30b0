"""The worker's side of a connection: read what a plan names, write what tasks give out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import pyarrow as pa

from kstreams.checkpoint.planning.plans import Slice
from kstreams.graph.topology import PartitionGroup
from kstreams.raw_batch import NO_LIMIT
from kstreams.state.log.commits import Output
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.records.queues import Queue
from kstreams.topic_limits import TopicLimits

__all__ = ("TopicIO",)


class TopicIO(Protocol):
    """Reads and writes topics for tasks; picklable, opened in the worker when first used."""

    def read(self, slices: Sequence[Slice], *, max_bytes: int = NO_LIMIT) -> list[Queue]:
        """Read slices of a plan; a queue for each, in their order.

        Args:
            slices: The slices.
            max_bytes: How many bytes all queues together may have, unless it is one record.

        Raises:
            TooManyBytesError: They have more. Not much more was read.
            DataLossError: Records of a slice are gone.
        """
        ...

    def read_ahead(self) -> None:
        """Get ready for the next slices of what was read, in the background."""
        ...

    def limits(self, topic: str) -> TopicLimits:
        """Return what a topic takes, as far as it is known.

        Raises:
            UnknownTopicError: There is no such topic, and writing does not create it.
        """
        ...

    def write(
        self,
        output: TaskOutput,
        group: PartitionGroup,
        *,
        producer: str,
        batch: int,
        revision: int = 0,
    ) -> Sequence[Output]:
        """Write a batch's output, durably, before the batch is committed.

        Args:
            output: What the task gave out; what topics refuse only now is counted there.
            group: Its group, for the partitioners of the sinks.
            producer: Id of the task in this life of the checkpoint.
            batch: Number of the batch.
            revision: Of the plan by which the task's input is not what it was before: then
                its output may be another one, too.

        Returns:
            What the driver must publish after the commit; empty where writing alone makes
            rows visible.
        """
        ...

    def staged(
        self,
        output: TaskOutput,
        group: PartitionGroup,
        *,
        producer: str,
        batch: int,
        revision: int = 0,
    ) -> Iterable[tuple[str, pa.Table]]:
        """Return what waits in the durable log for the commit: sinks' names, and their rows.

        That is what `write` with the same arguments does not write; most write all.
        """
        ...
