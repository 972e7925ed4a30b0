"""Filter records by a predicate.

See `kstreams.processors.map` for the underscore in `filter_`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from kstreams._types import K, V
from kstreams.processors.chained import ChainedFilter, ChainSupplier
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.context import ProcessorContext
from kstreams.processors.supplier import Supplier
from kstreams.record import Record

__all__ = ("filter_", "filter_not")


def filter_(predicate: Callable[[K, V], bool]) -> Supplier[K, V, K, V]:
    """Forward the records that match a predicate.

    Other records are omitted, and are not counted as dropped.

    Args:
        predicate: A function of key and value.

    Source: `KStream#filter`.
    """
    return ChainSupplier(partial(_Filter, predicate), partial(ChainedFilter, predicate, keeps=True))


def filter_not(predicate: Callable[[K, V], bool]) -> Supplier[K, V, K, V]:
    """Forward the records that do not match a predicate.

    Args:
        predicate: A function of key and value.

    Source: `KStream#filterNot`.
    """
    return ChainSupplier(
        partial(_FilterNot, predicate), partial(ChainedFilter, predicate, keeps=False)
    )


class _Filter(ClosureProcessor[K, V, K, V]):
    hands_on: ClassVar[HandsOn] = "all"
    keeps_key: ClassVar[bool] = True

    def __init__(self, predicate: Callable[[K, V], bool]) -> None:
        self._predicate = predicate

    def bind(self, context: ProcessorContext[K, V]) -> Callable[[Record[K, V]], None]:
        forward, predicate = context.forward, self._predicate

        def process(record: Record[K, V]) -> None:
            if predicate(record.key, record.value):
                forward(record)

        return process


class _FilterNot(_Filter[K, V]):
    def bind(self, context: ProcessorContext[K, V]) -> Callable[[Record[K, V]], None]:
        forward, predicate = context.forward, self._predicate

        def process(record: Record[K, V]) -> None:
            if not predicate(record.key, record.value):
                forward(record)

        return process
