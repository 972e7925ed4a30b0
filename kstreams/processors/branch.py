"""Processors of `TopologyBuilder.branch` and `merge`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

from kstreams._types import K, V
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.context import ProcessorContext
from kstreams.processors.processor import FixedKeyProcessor
from kstreams.processors.supplier import Supplier
from kstreams.record import Record

__all__ = ("Branch", "PassThrough")


class PassThrough(ClosureProcessor[K, V, K, V]):
    """Forwards each record unchanged: `process` is the context's `forward` method.

    So a record costs no extra call.
    """

    hands_on: ClassVar[HandsOn] = "one"
    keeps_key: ClassVar[bool] = True

    def bind(self, context: ProcessorContext[K, V]) -> Callable[[Record[K, V]], None]:
        """Return the context's `forward`."""
        return context.forward


class Branch(FixedKeyProcessor[K, V, V]):
    """Forwards each record to the child of the first predicate that is true."""

    def __init__(
        self, name: str, branches: Mapping[str, Callable[[K, V], bool]], default: str | None
    ) -> None:
        self._choices = [(f"{name}.{label}", test) for label, test in branches.items()]
        self._default = None if default is None else f"{name}.{default}"

    @classmethod
    def supplier(
        cls, name: str, branches: Mapping[str, Callable[[K, V], bool]], default: str | None
    ) -> Supplier[K, V, K, V]:
        """Return a supplier of `Branch` processors.

        Args:
            name: The name of the node; the children are `<name>.<branch>`.
            branches: The predicates by branch, in the order in which they are tried.
            default: The branch of records for which no predicate is true; None drops them.
        """
        return partial(cls, name, dict(branches), default)

    def process(self, record: Record[K, V]) -> None:
        """Forward to the first branch whose predicate is true, otherwise to the default."""
        for child, test in self._choices:
            if test(record.key, record.value):
                self.context.forward_to(child, record)
                return
        if self._default is None:
            self.context.drop("no-branch")
        else:
            self.context.forward_to(self._default, record)
