"""Replace each value by what a function makes of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from kstreams._types import V2, K, V
from kstreams.processors.chained import ChainedMapValues, ChainSupplier
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.context import ProcessorContext
from kstreams.processors.supplier import Supplier
from kstreams.record import Record

__all__ = ("map_values",)


def map_values(function: Callable[[V], V2]) -> Supplier[K, V, K, V2]:
    """Replace each value; key, timestamp and headers stay.

    Args:
        function: Makes a new value of a value. Above nulls that pass it gets None too.

    Example:
        >>> from kstreams import BYTES, TEXT, Topic, TopologyBuilder
        >>> builder = TopologyBuilder("lengths")
        >>> lines = builder.add_source("lines", Topic("lines", BYTES, TEXT))
        >>> lengths = builder.add_processor("length", map_values(len), lines)

    Source: `KStream#mapValues`.
    """
    return ChainSupplier(partial(_MapValues, function), partial(ChainedMapValues, function))


class _MapValues(ClosureProcessor[K, V, K, V2]):
    hands_on: ClassVar[HandsOn] = "one"
    keeps_key: ClassVar[bool] = True

    def __init__(self, function: Callable[[V], V2]) -> None:
        self._function = function

    def bind(self, context: ProcessorContext[K, V2]) -> Callable[[Record[K, V]], None]:
        forward, function = context.forward, self._function

        def process(record: Record[K, V]) -> None:
            forward(Record(record.key, function(record.value), record.timestamp, record.headers))

        return process
