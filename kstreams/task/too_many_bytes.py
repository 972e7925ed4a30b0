"""What keeps a task from reading more than memory has room for."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from kstreams.ids import TopicPartition

__all__ = ("NO_LIMIT", "TooManyBytesError")

NO_LIMIT = sys.maxsize
"""More bytes than there can be."""


class TooManyBytesError(Exception):
    """What is to be read has more bytes than allowed; never leaves the worker.

    Attributes:
        sizes: Of each partition, how many offsets were read before, and their bytes.
    """

    def __init__(self, sizes: Mapping[TopicPartition, tuple[int, int]]) -> None:
        super().__init__(sizes)
        self.sizes = sizes
