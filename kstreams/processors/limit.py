"""Forward only the first records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Protocol, cast

import pyarrow as pa

from kstreams._types import K, V
from kstreams.errors import TopologyError
from kstreams.names import shown_name
from kstreams.processors.chained import Chained, ChainSupplier
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.column_form import NodeForm
from kstreams.processors.context import BatchContext, ProcessorContext
from kstreams.processors.processor import BaseProcessor
from kstreams.record import Record

__all__ = ("LimitSupplier", "limit", "limit_of")


class _LimitContext(Protocol):
    """The part of a context that only `limit` uses."""

    def admit(self, count: int) -> int:
        """Count records that arrive at the node, and return how many of them it may forward."""
        ...


class LimitSupplier(Protocol):
    """Creates the processors of `limit`, for keys and values of any type."""

    @property
    def count(self) -> int:
        """The maximum number of records that the node forwards, over all of its tasks."""
        ...

    def __call__(self) -> BaseProcessor[K, V, K, V]:
        """Return a new processor."""
        ...


@dataclass(frozen=True)
class _Limits(ChainSupplier[Any, Any, Any, Any]):
    count: int

    @property
    def column_form(self) -> NodeForm:
        """Return the column form; the node may stop the task when it reaches the limit."""
        return replace(super().column_form, may_stop=True)


def limit(count: int) -> LimitSupplier:
    """Forward at most `count` records, counted over all tasks and restarts of the app.

    A run ends when every path from its sources leads through limits that are reached; see
    `App.run`. A source whose paths all lead through such limits is no longer read. A task forwards
    its first records in the order of processing. Several tasks share the limit, and it depends on
    the batch how many records each of them forwards: if you need the first records of all
    partitions, put a `TopologyBuilder.repartition` with one partition above the node. Further
    records are not counted as dropped. A record that fails and is skipped does not count.

    Args:
        count: The maximum number of records, 1 or more.

    Raises:
        TopologyError: `count` is not an integer of 1 or more.

    Source: Java's `Stream#limit`.
    """
    given: object = count
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise TopologyError(
            f"limit: count is {shown_name(given)}, expected a number of records",
            hint="pass an integer of 1 or more, or remove the node.",
        )
    return _Limits(_Limit, _ChainedLimit, count)


def limit_of(supplier: object) -> int | None:
    """Return the limit of a `limit` supplier; None for other suppliers."""
    return supplier.count if isinstance(supplier, _Limits) else None


class _Limit(ClosureProcessor[K, V, K, V]):
    hands_on: ClassVar[HandsOn] = "all"
    keeps_key: ClassVar[bool] = True

    def bind(self, context: ProcessorContext[K, V]) -> Callable[[Record[K, V]], None]:
        forward = context.forward
        admit = partial(_limit_context(context).admit, 1)

        def process(record: Record[K, V]) -> None:
            if admit():
                forward(record)

        return process


class _ChainedLimit(Chained):
    """The columnar form of `limit`."""

    def __init__(self) -> None:
        super().__init__(_no_function)

    def _made(self, table: pa.Table) -> pa.Table:
        return table.slice(0, _limit_context(self.context).admit(table.num_rows))


def _limit_context(context: ProcessorContext[Any, Any] | BatchContext) -> _LimitContext:
    return cast("_LimitContext", context)


def _no_function() -> None:
    """Do nothing; never called: it replaces the user's function, which `limit` does not have."""
