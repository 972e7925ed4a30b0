"""Call a function for each record, without changing it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from kstreams._types import K, V
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.context import ProcessorContext
from kstreams.processors.processor import Processor
from kstreams.processors.supplier import Supplier
from kstreams.record import Record

__all__ = ("peek", "without_peek")


def peek(function: Callable[[K, V], object]) -> Supplier[K, V, K, V]:
    """Call a function with each key and value, then forward the record unchanged.

    The call runs on the executor, at least once: a repeated batch repeats the call.

    Args:
        function: The function; its result is ignored.

    Source: `KStream#peek`.
    """
    return partial(_Peek, function)


class _Peek(ClosureProcessor[K, V, K, V]):
    hands_on: ClassVar[HandsOn] = "one"
    keeps_key: ClassVar[bool] = True

    def __init__(self, function: Callable[[K, V], object]) -> None:
        self._function = function

    def bind(self, context: ProcessorContext[K, V]) -> Callable[[Record[K, V]], None]:
        forward, function = context.forward, self._function

        def process(record: Record[K, V]) -> None:
            function(record.key, record.value)
            forward(record)

        return process


def without_peek(supplier: object) -> Callable[[], Processor[Any, Any, Any, Any]] | None:
    """Return a replacement of a `peek` that calls no function; None for other suppliers."""
    if isinstance(supplier, partial) and supplier.func is _Peek:
        return partial(_Peek, _nothing)
    return None


def _nothing(_key: object, _value: object) -> None:
    """Do nothing."""
