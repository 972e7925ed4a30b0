"""The base of processors with two inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from kstreams._types import K2, V2, K
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record

__all__ = ("JoinProcessor",)

VL = TypeVar("VL")
"""Type of the values that come in on the left."""
VR = TypeVar("VR")
"""Type of the values that come in on the right."""


class JoinProcessor(ABC, Generic[K, VL, VR, K2, V2]):
    """Handles the records of two inputs, one at a time; for `TopologyBuilder.add_join`.

    One instance has both inputs, so what it keeps of one side is there for the other. All
    that is said of `Processor` holds.

    Source: two `Processor` nodes with one store, in Kafka Streams.
    """

    keeps_key: ClassVar[bool] = False
    """True when every record is forwarded under the key it came with."""

    def init(self, context: ProcessorContext[K2, V2]) -> None:
        """Get ready; may run for every micro-batch. Keeps the context by default."""
        self.context = context

    @abstractmethod
    def process_left(self, record: Record[K, VL]) -> None:
        """Handle a record of the left input; forward any number of records by the context."""

    @abstractmethod
    def process_right(self, record: Record[K, VR]) -> None:
        """Handle a record of the right input; forward any number of records by the context."""

    def process_both(self, lefts: Sequence[Record[K, VL]], rights: Sequence[Record[K, VR]]) -> None:
        """Handle what comes to both inputs of one record above them, once all of it is there.

        By default all of the left, then all of the right, in order. Called only where one
        node leads to both inputs.
        """
        for record in lefts:
            self.process_left(record)
        for other in rights:
            self.process_right(other)

    def close(self) -> None:
        """Let go of what `init` took."""
