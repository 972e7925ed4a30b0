"""Filter records by a predicate.

See `kstreams.processors.map` for the underscore in `filter_`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, overload

from kstreams._types import K, V
from kstreams.processors.chained import ChainedFilter, ChainSupplier
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.computed import computed_filter
from kstreams.processors.context import ProcessorContext
from kstreams.processors.supplier import Supplier
from kstreams.processors.value_function import takes_value_only
from kstreams.record import Record

__all__ = ("filter_", "filter_not")


@overload
def filter_(predicate: Callable[[K, V], bool]) -> Supplier[K, V, K, V]: ...
@overload
def filter_(predicate: Callable[[V], bool]) -> Supplier[K, V, K, V]: ...
def filter_(predicate: Callable[..., bool]) -> Supplier[K, V, K, V]:
    """Forward the records that match a predicate.

    Other records are omitted, and are not counted as dropped.

    Args:
        predicate: A function of key and value, or of the value. A function that accepts two
            arguments gets the key and the value. A function of `columns` is computed by columns,
            where possible.

    Source: `KStream#filter`.
    """
    return _supplier(predicate, keeps=True)


@overload
def filter_not(predicate: Callable[[K, V], bool]) -> Supplier[K, V, K, V]: ...
@overload
def filter_not(predicate: Callable[[V], bool]) -> Supplier[K, V, K, V]: ...
def filter_not(predicate: Callable[..., bool]) -> Supplier[K, V, K, V]:
    """Forward the records that do not match a predicate.

    Args:
        predicate: The predicate, as for `filter_`.

    Source: `KStream#filterNot`.
    """
    return _supplier(predicate, keeps=False)


def _supplier(predicate: Callable[..., bool], *, keeps: bool) -> ChainSupplier[K, V, K, V]:
    of_value = takes_value_only(predicate)
    return ChainSupplier(
        partial(_Filter, predicate, keeps=keeps, of_value=of_value),
        partial(ChainedFilter, predicate, keeps=keeps, of_value=of_value),
        computed=computed_filter(predicate, keeps=keeps),
    )


class _Filter(ClosureProcessor[K, V, K, V]):
    hands_on: ClassVar[HandsOn] = "all"
    keeps_key: ClassVar[bool] = True

    def __init__(self, predicate: Callable[..., bool], *, keeps: bool, of_value: bool) -> None:
        self._predicate = predicate
        self._keeps = keeps
        self._of_value = of_value

    def bind(self, context: ProcessorContext[K, V]) -> Callable[[Record[K, V]], None]:
        forward, predicate = context.forward, self._predicate

        def process_kept(record: Record[K, V]) -> None:
            if predicate(record.key, record.value):
                forward(record)

        def process_left_out(record: Record[K, V]) -> None:
            if not predicate(record.key, record.value):
                forward(record)

        if not self._of_value:
            return process_kept if self._keeps else process_left_out
        keeps = self._keeps

        def process(record: Record[K, V]) -> None:
            if bool(predicate(record.value)) is keeps:
                forward(record)

        return process
