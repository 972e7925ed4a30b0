"""Replace the key of each record."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, overload

from kstreams._types import K2, K, V
from kstreams.processors.chained import ChainedRekey, ChainedRekeyByValue, ChainSupplier
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.computed import computed_rekey
from kstreams.processors.context import ProcessorContext
from kstreams.processors.kept_key import keeps_partition
from kstreams.processors.supplier import Supplier
from kstreams.processors.value_function import takes_value_only
from kstreams.record import Record

__all__ = ("rekey",)


@overload
def rekey(function: Callable[[K, V], K2]) -> Supplier[K, V, K2, V]: ...
@overload
def rekey(function: Callable[[V], K2]) -> Supplier[K, V, K2, V]: ...
def rekey(function: Callable[..., K2]) -> Supplier[K, V, K2, V]:
    """Replace each key; value, timestamp and headers do not change.

    The operator changes the key, so a repartition must precede a downstream node with a store.

    Args:
        function: Returns a new key for a key and a value, or for a value. A function that accepts
            two arguments gets the key and the value. A function of `columns` is computed by
            columns, where possible.

    Source: `KStream#selectKey`.
    """
    if takes_value_only(function):
        return ChainSupplier(
            partial(_RekeyByValue, function),
            partial(ChainedRekeyByValue, function),
            computed=computed_rekey(function),
        )
    return ChainSupplier(
        partial(_Rekey, function),
        partial(ChainedRekey, function),
        computed=computed_rekey(function),
        keeps_partition=keeps_partition(function),
    )


class _Rekey(ClosureProcessor[K, V, K2, V]):
    hands_on: ClassVar[HandsOn] = "one"

    def __init__(self, function: Callable[..., K2]) -> None:
        self._function = function

    def bind(self, context: ProcessorContext[K2, V]) -> Callable[[Record[K, V]], None]:
        forward, function = context.forward, self._function

        def process(record: Record[K, V]) -> None:
            value = record.value
            forward(Record(function(record.key, value), value, record.timestamp, record.headers))

        return process


class _RekeyByValue(_Rekey[K, V, K2]):
    def bind(self, context: ProcessorContext[K2, V]) -> Callable[[Record[K, V]], None]:
        forward, function = context.forward, self._function

        def process(record: Record[K, V]) -> None:
            value = record.value
            forward(Record(function(value), value, record.timestamp, record.headers))

        return process
