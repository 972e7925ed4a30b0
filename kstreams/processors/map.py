"""Replace each key and value by the result of a function.

The names `map_` and `filter_` are Kafka Streams' names with an underscore, as PEP 8 recommends for
names of builtins: `from kstreams import map` would break every call of the builtin `map` in the
user's module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from kstreams._types import K2, V2, K, V
from kstreams.processors.chained import ChainedMap, ChainSupplier
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.context import ProcessorContext
from kstreams.processors.returned import TEXT_TYPES, text_problem, text_returned
from kstreams.processors.supplier import Supplier
from kstreams.record import Record

__all__ = ("map_",)


def map_(function: Callable[[K, V], tuple[K2, V2]]) -> Supplier[K, V, K2, V2]:
    """Replace each key and value; timestamp and headers do not change.

    The operator may change the key, so a repartition must precede a downstream node with a store.

    Args:
        function: Returns a new key and value for a key and a value.

    Source: `KStream#map`.
    """
    return ChainSupplier(
        partial(_Map, function),
        partial(ChainedMap, function),
        found=text_problem("map_", function, "a pair of key and value"),
    )


class _Map(ClosureProcessor[K, V, K2, V2]):
    hands_on: ClassVar[HandsOn] = "one"

    def __init__(self, function: Callable[[K, V], tuple[K2, V2]]) -> None:
        self._function = function

    def bind(self, context: ProcessorContext[K2, V2]) -> Callable[[Record[K, V]], None]:
        forward, function = context.forward, self._function

        def process(record: Record[K, V]) -> None:
            made = function(record.key, record.value)
            if isinstance(made, TEXT_TYPES):
                raise text_returned("map_", function, made, "a pair of key and value")
            key, value = made
            forward(Record(key, value, record.timestamp, record.headers))

        return process
