"""The base of processors with two inputs, and of those that are closures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from kstreams._types import K2, V2, K
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record

__all__ = ("ClosureJoinProcessor", "JoinProcessor", "found_in_store")

VL = TypeVar("VL")
"""Type of the values that come in on the left."""
VR = TypeVar("VR")
"""Type of the values that come in on the right."""


class JoinProcessor(ABC, Generic[K, VL, VR, K2, V2]):
    """Processes the records of two inputs, one at a time; for `TopologyBuilder.add_join`.

    One instance has both inputs, so data that it keeps from one side is available for the other.
    The rules of `Processor` apply.

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
        """Process the records that reach both inputs from one record, when all are there.

        By default all left records, then all right records, in order. Called only if one node leads
        to both inputs.
        """
        for record in lefts:
            self.process_left(record)
        for other in rights:
            self.process_right(other)

    def close(self) -> None:
        """Release the resources of `init`."""


class ClosureJoinProcessor(JoinProcessor[K, VL, VR, K2, V2]):
    """A processor whose two methods are whatever `bind` returns; see `ClosureProcessor`."""

    def init(self, context: ProcessorContext[K2, V2]) -> None:
        """Keep the context, and put the closures in place of the methods."""
        super().init(context)
        left, right = self.bind(context)
        self.process_left = left  # type: ignore[method-assign, assignment]  # same
        self.process_right = right  # type: ignore[method-assign, assignment]  # same

    @abstractmethod
    def bind(
        self, context: ProcessorContext[K2, V2]
    ) -> tuple[Callable[[Record[K, VL]], None], Callable[[Record[K, VR]], None]]:
        """Return the functions that process a record of the left and of the right input."""

    def process_left(self, record: Record[K, VL]) -> None:
        """Fail: `init` replaces this method."""
        raise RuntimeError(f"{type(self).__name__}.process_left was called before init")

    def process_right(self, record: Record[K, VR]) -> None:
        """Fail: `init` replaces this method."""
        raise RuntimeError(f"{type(self).__name__}.process_right was called before init")


def found_in_store(_: object) -> None:
    """Take a record of an input without doing anything: it is in the store of a table."""
