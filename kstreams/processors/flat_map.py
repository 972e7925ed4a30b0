"""Replace each key and value by any number of others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar

from kstreams._types import K2, V2, K, V
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.context import ProcessorContext
from kstreams.processors.supplier import Supplier
from kstreams.record import Record

__all__ = ("flat_map",)


def flat_map(
    function: Callable[[K, V], Iterable[tuple[K2, V2]]],
) -> Supplier[K, V, K2, V2]:
    """Forward a record for each pair that a function makes, in its order.

    Timestamp and headers stay. Counts as changing the key: what has a store below needs
    a repartition between.

    Args:
        function: Makes pairs of key and value of a key and value, or none.

    Source: `KStream#flatMap`.
    """
    return partial(_FlatMap, function)


class _FlatMap(ClosureProcessor[K, V, K2, V2]):
    hands_on: ClassVar[HandsOn] = "all"

    def __init__(self, function: Callable[[K, V], Iterable[tuple[K2, V2]]]) -> None:
        self._function = function

    def bind(self, context: ProcessorContext[K2, V2]) -> Callable[[Record[K, V]], None]:
        forward, function = context.forward, self._function

        def process(record: Record[K, V]) -> None:
            timestamp, headers = record.timestamp, record.headers
            for key, value in function(record.key, record.value):
                forward(Record(key, value, timestamp, headers))

        return process
