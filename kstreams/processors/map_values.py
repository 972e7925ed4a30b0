"""Replace each value by the result of a function."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, overload

from kstreams._types import V2, K, V
from kstreams.processors.chained import ChainedMapValues, ChainedMapValuesWithKey, ChainSupplier
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.computed import computed_map_values
from kstreams.processors.context import ProcessorContext
from kstreams.processors.supplier import Supplier
from kstreams.processors.value_function import takes_key
from kstreams.record import Record

__all__ = ("map_values",)


@overload
def map_values(function: Callable[[V], V2]) -> Supplier[K, V, K, V2]: ...
@overload
def map_values(function: Callable[[K, V], V2]) -> Supplier[K, V, K, V2]: ...
def map_values(
    function: Callable[[V], V2] | Callable[[K, V], V2],
) -> Supplier[K, V, K, V2]:
    """Replace each value; key, timestamp and headers do not change.

    Args:
        function: Returns the new value for a value, or for a key and a value. A function that
            requires two arguments is called with key and value. Any other function is called with
            the value, also if its second argument is optional, if it has `*args`, or if it is a
            builtin whose signature cannot be read. A function of `columns` is computed by columns,
            where possible. The value may be None if the source or edge
            above passes nulls.

    Raises:
        TopologyError: The function can be called with neither one argument nor two.

    Example:
        >>> from kstreams import BYTES, TEXT, Topic, TopologyBuilder
        >>> builder = TopologyBuilder("lengths")
        >>> lines = builder.add_source("lines", Topic("lines", BYTES, TEXT))
        >>> lengths = builder.add_processor("length", map_values(len), lines)

    Source: `KStream#mapValues`, with a `ValueMapper` or a `ValueMapperWithKey`.
    """
    if takes_key("map_values", function):
        return ChainSupplier(
            partial(_MapValuesWithKey, function),
            partial(ChainedMapValuesWithKey, function),
            computed=computed_map_values(function),
        )
    return ChainSupplier(
        partial(_MapValues, function),
        partial(ChainedMapValues, function),
        computed=computed_map_values(function),
    )


class _MapValues(ClosureProcessor[K, V, K, V2]):
    hands_on: ClassVar[HandsOn] = "one"
    keeps_key: ClassVar[bool] = True

    def __init__(self, function: Callable[..., V2]) -> None:
        self._function = function

    def bind(self, context: ProcessorContext[K, V2]) -> Callable[[Record[K, V]], None]:
        forward, function = context.forward, self._function

        def process(record: Record[K, V]) -> None:
            forward(Record(record.key, function(record.value), record.timestamp, record.headers))

        return process


class _MapValuesWithKey(_MapValues[K, V, V2]):
    def bind(self, context: ProcessorContext[K, V2]) -> Callable[[Record[K, V]], None]:
        forward, function = context.forward, self._function

        def process(record: Record[K, V]) -> None:
            key = record.key
            forward(Record(key, function(key, record.value), record.timestamp, record.headers))

        return process
