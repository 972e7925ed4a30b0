"""The worker's side of a connection: read what a plan names, write what tasks give out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from kstreams.graph.topology import PartitionGroup
from kstreams.spark.plans import Slice
from kstreams.task.outputs import TaskOutput
from kstreams.task.queues import Queue

__all__ = ("TopicIO",)


class TopicIO(Protocol):
    """Reads and writes topics for tasks; picklable, opened in the worker when first used."""

    def read(self, slices: Sequence[Slice]) -> list[Queue]:
        """Read slices of a plan; a queue for each, in their order.

        Raises:
            DataLossError: Records of a slice are gone.
        """
        ...

    def read_ahead(self) -> None:
        """Get ready for the next slices of what was read, beside whatever else is done."""
        ...

    def write(
        self, output: TaskOutput, group: PartitionGroup, *, producer: str, batch: int
    ) -> list[list[Any]]:
        """Write a batch's output, durably, before the batch is committed.

        Args:
            output: What the task gave out.
            group: Its group, for the partitioners of the sinks.
            producer: Id of the task in this life of the checkpoint.
            batch: Number of the batch.

        Returns:
            What the driver must publish after the commit: topic, partition, staged name,
            producer. Empty where writing alone makes rows visible.
        """
        ...
