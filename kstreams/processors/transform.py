"""Operators with a function of the whole record, including timestamp and headers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar

from kstreams._types import K2, V2, K, V
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.context import ProcessorContext
from kstreams.processors.returned import TEXT_TYPES, FunctionSupplier, text_returned
from kstreams.processors.supplier import Supplier
from kstreams.record import Record

__all__ = ("transform", "transform_values")


def transform(
    function: Callable[[Record[K, V]], Iterable[Record[K2, V2]]],
) -> Supplier[K, V, K2, V2]:
    """Forward every record that a function returns for a record, in the returned order.

    The operator may change the key, so a repartition must precede a downstream node with a store.

    Args:
        function: Returns any number of records for a record; a generator works well.

    Source: `KStream#process` with a processor without a store.
    """
    return FunctionSupplier("transform", function, "records", partial(_Transform, function))


def transform_values(
    function: Callable[[Record[K, V]], Iterable[V2]],
) -> Supplier[K, V, K, V2]:
    """Forward every value that a function returns for a record, in the returned order.

    Key, timestamp and headers do not change.

    Args:
        function: Returns any number of values for a record.

    Source: `KStream#processValues` with a processor that has no store.
    """
    make = partial(_TransformValues, function)
    return FunctionSupplier("transform_values", function, "values", make)


class _Transform(ClosureProcessor[K, V, K2, V2]):
    hands_on: ClassVar[HandsOn] = "all"

    def __init__(self, function: Callable[[Record[K, V]], Iterable[Record[K2, V2]]]) -> None:
        self._function = function

    def bind(self, context: ProcessorContext[K2, V2]) -> Callable[[Record[K, V]], None]:
        forward, function = context.forward, self._function

        def process(record: Record[K, V]) -> None:
            found = function(record)
            if isinstance(found, TEXT_TYPES):
                raise text_returned("transform", function, found, "records")
            for made in found:
                forward(made)

        return process


class _TransformValues(ClosureProcessor[K, V, K, V2]):
    hands_on: ClassVar[HandsOn] = "all"
    keeps_key: ClassVar[bool] = True

    def __init__(self, function: Callable[[Record[K, V]], Iterable[V2]]) -> None:
        self._function = function

    def bind(self, context: ProcessorContext[K, V2]) -> Callable[[Record[K, V]], None]:
        forward, function = context.forward, self._function

        def process(record: Record[K, V]) -> None:
            key, timestamp, headers = record.key, record.timestamp, record.headers
            made = function(record)
            if isinstance(made, TEXT_TYPES):
                raise text_returned("transform_values", function, made, "values")
            for value in made:
                forward(Record(key, value, timestamp, headers))

        return process
