"""The worker's part of a connection: reading the input of a plan, writing the output of tasks."""

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
        """Read slices of a plan; return one queue for each, in order.

        Args:
            slices: The slices.
            max_bytes: The maximum bytes of all queues together, unless there is one record.

        Raises:
            TooManyBytesError: The queues have more bytes. Not much more was read.
            DataLossError: Records of a slice are gone.
        """
        ...

    def read_ahead(self) -> None:
        """Prefetch the next slices in the background."""
        ...

    def limits(self, topic: str) -> TopicLimits:
        """Return the known limits of a topic.

        Raises:
            UnknownTopicError: The topic does not exist, and writing does not create it.
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
        """Write the output of a batch durably, before the batch is committed.

        Args:
            output: The output of the task; results that topics reject now are counted in it.
            group: The group of the task, for the partitioners of the sinks.
            producer: The producer id of the task in this epoch.
            batch: The number of the batch.
            revision: The plan revision, if the input, and so the output, may differ from the first
                one.

        Returns:
            The output to publish after the commit; empty if writing publishes it.
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
        """Return the output for the durable log until the commit: names of sinks, and their rows.

        `write` with the same arguments does not write these rows; most connections write all.
        """
        ...
