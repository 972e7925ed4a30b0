"""Replace each record by any number of records with new values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar, overload

from kstreams._types import V2, K, V
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.context import ProcessorContext
from kstreams.processors.returned import TEXT_TYPES, FunctionSupplier, text_returned
from kstreams.processors.supplier import Supplier
from kstreams.processors.value_function import takes_key
from kstreams.record import Record

__all__ = ("flat_map_values",)


@overload
def flat_map_values(function: Callable[[V], Iterable[V2]]) -> Supplier[K, V, K, V2]: ...
@overload
def flat_map_values(function: Callable[[K, V], Iterable[V2]]) -> Supplier[K, V, K, V2]: ...
def flat_map_values(
    function: Callable[[V], Iterable[V2]] | Callable[[K, V], Iterable[V2]],
) -> Supplier[K, V, K, V2]:
    """Forward a record for each value that a function returns, in the order of the values.

    Key, timestamp and headers do not change.

    Args:
        function: Returns any number of new values for a value, or for a key and a value, depending
            on its signature, as in `map_values`. A returned text is an error, not a collection of
            its characters.

    Raises:
        TopologyError: The function can be called with neither one argument nor two.

    Source: `KStream#flatMapValues`, with a `ValueMapper` or a `ValueMapperWithKey`.
    """
    kind = _FlatMapValuesWithKey if takes_key("flat_map_values", function) else _FlatMapValues
    return FunctionSupplier("flat_map_values", function, "values", partial(kind, function))


class _FlatMapValues(ClosureProcessor[K, V, K, V2]):
    hands_on: ClassVar[HandsOn] = "all"
    keeps_key: ClassVar[bool] = True

    def __init__(self, function: Callable[..., Iterable[V2]]) -> None:
        self._function = function

    def bind(self, context: ProcessorContext[K, V2]) -> Callable[[Record[K, V]], None]:
        forward, function = context.forward, self._function

        def process(record: Record[K, V]) -> None:
            key, timestamp, headers = record.key, record.timestamp, record.headers
            made = function(record.value)
            if isinstance(made, TEXT_TYPES):
                raise text_returned("flat_map_values", function, made, "values")
            for value in made:
                forward(Record(key, value, timestamp, headers))

        return process


class _FlatMapValuesWithKey(_FlatMapValues[K, V, V2]):
    def bind(self, context: ProcessorContext[K, V2]) -> Callable[[Record[K, V]], None]:
        forward, function = context.forward, self._function

        def process(record: Record[K, V]) -> None:
            key, timestamp, headers = record.key, record.timestamp, record.headers
            made = function(key, record.value)
            if isinstance(made, TEXT_TYPES):
                raise text_returned("flat_map_values", function, made, "values")
            for value in made:
                forward(Record(key, value, timestamp, headers))

        return process
