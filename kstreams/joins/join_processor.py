"""Base classes of processors with two inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from kstreams._types import K2, V2, K
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record

__all__ = ("ClosureJoinProcessor", "JoinProcessor", "found_in_store")

VL = TypeVar("VL")
"""Type of the left input's values."""
VR = TypeVar("VR")
"""Type of the right input's values."""


class JoinProcessor(ABC, Generic[K, VL, VR, K2, V2]):
    """Processes the records of two inputs, one at a time; for `TopologyBuilder.add_join`.

    One instance processes both inputs, so the data that it keeps from one side is available to the
    other. The rules of `Processor` apply.

    Source: two `Processor` nodes with one store, in Kafka Streams.
    """

    keeps_key: ClassVar[bool] = False
    """Whether every record is forwarded with the key of its input record."""

    def init(self, context: ProcessorContext[K2, V2]) -> None:
        """Initialize; may run for every micro-batch. By default, keeps the context."""
        self.context = context

    @abstractmethod
    def process_left(self, record: Record[K, VL]) -> None:
        """Process a left record; may forward any number of records through the context."""

    @abstractmethod
    def process_right(self, record: Record[K, VR]) -> None:
        """Process a right record; may forward any number of records through the context."""

    def process_both(self, lefts: Sequence[Record[K, VL]], rights: Sequence[Record[K, VR]]) -> None:
        """Process the records of both inputs that result from the same record upstream.

        By default, processes all left records, then all right records, in order. Called only if
        both inputs descend from a common node.
        """
        for record in lefts:
            self.process_left(record)
        for other in rights:
            self.process_right(other)

    def close(self) -> None:
        """Release the resources acquired in `init`."""


class ClosureJoinProcessor(JoinProcessor[K, VL, VR, K2, V2]):
    """A join processor whose two methods are the functions that `bind` returns."""

    def init(self, context: ProcessorContext[K2, V2]) -> None:
        """Keep the context, and replace both methods by the functions that `bind` returns."""
        super().init(context)
        left, right = self.bind(context)
        self.process_left = left  # type: ignore[method-assign, assignment]  # same
        self.process_right = right  # type: ignore[method-assign, assignment]  # same

    @abstractmethod
    def bind(
        self, context: ProcessorContext[K2, V2]
    ) -> tuple[Callable[[Record[K, VL]], None], Callable[[Record[K, VR]], None]]:
        """Return the functions that process a left record and a right record."""

    def process_left(self, record: Record[K, VL]) -> None:
        """Raise `RuntimeError`: `init` replaces this method."""
        raise RuntimeError(f"{type(self).__name__}.process_left was called before init")

    def process_right(self, record: Record[K, VR]) -> None:
        """Raise `RuntimeError`: `init` replaces this method."""
        raise RuntimeError(f"{type(self).__name__}.process_right was called before init")


def found_in_store(_: object) -> None:
    """Ignore a record of a table input: another node has stored it."""
