"""Replace the key of each record."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from kstreams._types import K2, K, V
from kstreams.processors.chained import ChainedRekey, ChainSupplier
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.context import ProcessorContext
from kstreams.processors.supplier import Supplier
from kstreams.record import Record

__all__ = ("rekey",)


def rekey(function: Callable[[K, V], K2]) -> Supplier[K, V, K2, V]:
    """Replace each key; value, timestamp and headers do not change.

    The operator changes the key, so a repartition must precede a downstream node with a store.

    Args:
        function: Returns a new key for a key and a value.

    Source: `KStream#selectKey`.
    """
    return ChainSupplier(partial(_Rekey, function), partial(ChainedRekey, function))


class _Rekey(ClosureProcessor[K, V, K2, V]):
    hands_on: ClassVar[HandsOn] = "one"

    def __init__(self, function: Callable[[K, V], K2]) -> None:
        self._function = function

    def bind(self, context: ProcessorContext[K2, V]) -> Callable[[Record[K, V]], None]:
        forward, function = context.forward, self._function

        def process(record: Record[K, V]) -> None:
            value = record.value
            forward(Record(function(record.key, value), value, record.timestamp, record.headers))

        return process
