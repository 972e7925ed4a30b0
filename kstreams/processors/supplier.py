"""What a building block such as `map_values(len)` is: a typed maker of processors."""

from __future__ import annotations

from typing import Protocol

from kstreams.processors.processor import BaseProcessor, KIn, KOut, VIn, VOut

__all__ = ("Supplier",)


class Supplier(Protocol[KIn, VIn, KOut, VOut]):
    """Makes a new processor at each call; hand it to `TopologyBuilder.add_processor`.

    A processor class with no arguments is one, and so is any function that returns a
    processor. Return this type, not `Callable[[], ...]`, from a function that makes
    suppliers: type checkers then infer its type variables, and those of lambdas given
    to it, from the parents of the node. (A named function that is annotated with wider
    types than the parents have widens the node's types too, in pyright; a lambda around
    it does not.)

    Source: `org.apache.kafka.streams.processor.api.ProcessorSupplier`.
    """

    def __call__(self) -> BaseProcessor[KIn, VIn, KOut, VOut]:
        """Return a new processor."""
        ...
