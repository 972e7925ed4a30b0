"""Replace each value by any number of others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar

from kstreams._types import V2, K, V
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.context import ProcessorContext
from kstreams.processors.supplier import Supplier
from kstreams.record import Record

__all__ = ("flat_map_values",)


def flat_map_values(function: Callable[[V], Iterable[V2]]) -> Supplier[K, V, K, V2]:
    """Forward a record for each value that a function makes of a value, in its order.

    Key, timestamp and headers stay.

    Args:
        function: Makes new values of a value, or none.

    Source: `KStream#flatMapValues`.
    """
    return partial(_FlatMapValues, function)


class _FlatMapValues(ClosureProcessor[K, V, K, V2]):
    hands_on: ClassVar[HandsOn] = "all"
    keeps_key: ClassVar[bool] = True

    def __init__(self, function: Callable[[V], Iterable[V2]]) -> None:
        self._function = function

    def bind(self, context: ProcessorContext[K, V2]) -> Callable[[Record[K, V]], None]:
        forward, function = context.forward, self._function

        def process(record: Record[K, V]) -> None:
            key, timestamp, headers = record.key, record.timestamp, record.headers
            for value in function(record.value):
                forward(Record(key, value, timestamp, headers))

        return process
