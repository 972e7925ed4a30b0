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
"""How a processor forwards: once for each record, to all children; to all children; each record
to a child that it names; or in any way."""


class ClosureProcessor(Processor[KIn, VIn, KOut, VOut]):
    """A processor whose `process` is whatever `bind` returns.

    The closure has the context's methods and the user's function in its cells, so that
    a record costs no look-up of attributes. Whoever runs a processor reads its `process`
    after `init`.

    Attributes:
        hands_on: How it forwards: spares a count of its calls.
    """

    hands_on: ClassVar[HandsOn] = "any"

    def init(self, context: ProcessorContext[KOut, VOut]) -> None:
        """Keep the context, and put the closure in place of `process`."""
        super().init(context)
        self.process = self.bind(context)  # type: ignore[method-assign, assignment]  # same

    @abstractmethod
    def bind(self, context: ProcessorContext[KOut, VOut]) -> Callable[[Record[KIn, VIn]], None]:
        """Return what handles a record, bound to a context."""

    def process(self, record: Record[KIn, VIn]) -> None:
        """Fail: `init` replaces this method."""
        raise RuntimeError(f"{type(self).__name__}.process was called before init")
