"""The base of operators: `process` is a closure made once, in `init`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Literal

from kstreams.processors.context import ProcessorContext
from kstreams.processors.processor import KIn, KOut, Processor, VIn, VOut
from kstreams.record import Record

__all__ = ("ClosureProcessor", "HandsOn")

HandsOn = Literal["one", "all", "some", "any"]
"""The ways a processor forwards: `one` record per record, to all children; to `all` children; each
record to `some` named child; or in `any` way."""


class ClosureProcessor(Processor[KIn, VIn, KOut, VOut]):
    """A processor whose `process` is the result of `bind`.

    The closure has the methods of the context and the user's function in its cells, so a record
    needs no attribute lookup. The caller reads `process` after `init`.

    Attributes:
        hands_on: The way of forwarding, which saves a counter of calls.
    """

    hands_on: ClassVar[HandsOn] = "any"

    def init(self, context: ProcessorContext[KOut, VOut]) -> None:
        """Keep the context, and put the closure in place of `process`."""
        super().init(context)
        self.process = self.bind(context)  # type: ignore[method-assign, assignment]  # same

    @abstractmethod
    def bind(self, context: ProcessorContext[KOut, VOut]) -> Callable[[Record[KIn, VIn]], None]:
        """Return the function that processes a record, bound to a context."""

    def process(self, record: Record[KIn, VIn]) -> None:
        """Fail: `init` replaces this method."""
        raise RuntimeError(f"{type(self).__name__}.process was called before init")
