"""Replace each record by any number of records with new keys and values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar

from kstreams._types import K2, V2, K, V
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.context import ProcessorContext
from kstreams.processors.returned import (
    TEXT_TYPES,
    FunctionSupplier,
    Unpacked,
    text_returned,
)
from kstreams.processors.supplier import Supplier
from kstreams.record import Record

__all__ = ("flat_map",)

_UNPACKED: Unpacked = "pairs of key and value"


def flat_map(
    function: Callable[[K, V], Iterable[tuple[K2, V2]]],
) -> Supplier[K, V, K2, V2]:
    """Forward a record for each pair that a function returns, in the order of the pairs.

    Timestamp and headers do not change. The operator may change the key, so a repartition must
    precede a downstream node with a store.

    Args:
        function: Returns any number of pairs of key and value for a key and a value.

    Source: `KStream#flatMap`.
    """
    make = partial(_FlatMap, function)
    return FunctionSupplier("flat_map", function, _UNPACKED, make)


class _FlatMap(ClosureProcessor[K, V, K2, V2]):
    hands_on: ClassVar[HandsOn] = "all"

    def __init__(self, function: Callable[[K, V], Iterable[tuple[K2, V2]]]) -> None:
        self._function = function

    def bind(self, context: ProcessorContext[K2, V2]) -> Callable[[Record[K, V]], None]:
        forward, function = context.forward, self._function

        def process(record: Record[K, V]) -> None:
            timestamp, headers = record.timestamp, record.headers
            made = function(record.key, record.value)
            if isinstance(made, TEXT_TYPES):
                raise text_returned("flat_map", function, made, _UNPACKED)
            for pair in made:
                if isinstance(pair, TEXT_TYPES):
                    raise text_returned("flat_map", function, pair, "a pair of key and value")
                key, value = pair
                forward(Record(key, value, timestamp, headers))

        return process
