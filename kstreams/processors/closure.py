"""The base of operators: `process` is a closure that `init` creates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Literal

from kstreams.processors.context import ProcessorContext
from kstreams.processors.processor import KIn, KOut, Processor, VIn, VOut
from kstreams.record import Record

__all__ = ("ClosureProcessor", "HandsOn")

HandsOn = Literal["one", "all", "some", "any"]
"""How a processor forwards records.

`one`: one record per input record, to all children. `all`: any number of records, each to all
children. `some`: each record to one named child. `any`: in any other way.
"""


class ClosureProcessor(Processor[KIn, VIn, KOut, VOut]):
    """A processor whose `process` is the result of `bind`.

    The closure holds the methods of the context and the user's function, so a record needs no
    attribute lookup. The caller must read `process` after `init`.

    Attributes:
        hands_on: The kind of forwarding, such as `one` record per input record. From the kind, the
            task derives most counts of forwarded records, instead of counting calls of `forward`.
    """

    hands_on: ClassVar[HandsOn] = "any"

    def init(self, context: ProcessorContext[KOut, VOut]) -> None:
        """Keep the context, and replace `process` by the function that `bind` returns."""
        super().init(context)
        self.process = self.bind(context)  # type: ignore[method-assign, assignment]  # same

    @abstractmethod
    def bind(self, context: ProcessorContext[KOut, VOut]) -> Callable[[Record[KIn, VIn]], None]:
        """Return the function that processes a record, bound to a context."""

    def process(self, record: Record[KIn, VIn]) -> None:
        """Raise `RuntimeError`: `init` replaces this method."""
        raise RuntimeError(f"{type(self).__name__}.process was called before init")
