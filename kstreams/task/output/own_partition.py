"""The rule that puts a changelog's records into the task's own partition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kstreams.partitioner import ArrowKeys

__all__ = ("OwnPartition",)


@dataclass(frozen=True)
class OwnPartition:
    """A partitioner that puts every key into one partition: that of the owning task.

    A task's changelog is then restored in the same task, however its keys are serialized.

    Args:
        number: The number of the task's partition.
    """

    number: int
    name: str = "own"

    def partition(self, key: bytes, partitions: int) -> int:
        """Return the task's partition, whatever the key."""
        return self.number

    def partition_batch(self, keys: ArrowKeys, partitions: int) -> npt.NDArray[np.int32]:
        """Return the task's partition for each key."""
        return np.full(len(keys), self.number, np.int32)
