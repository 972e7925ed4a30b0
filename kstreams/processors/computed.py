"""Stateless operators whose functions are computed by columns (`columns(...)`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kstreams.columns.row_failure import RowFailure
from kstreams.expressions.computation import Computation
from kstreams.expressions.function import TreeFunction
from kstreams.processors.column_form import Reason
from kstreams.processors.columns import ColumnSource, RecordColumns
from kstreams.processors.context import BatchContext
from kstreams.processors.each_row import replaced, row_error
from kstreams.processors.record_columns import TypedRecords
from kstreams.serde.object_columns import ObjectColumns
from kstreams.serde.objects import objects_of

__all__ = ("Computed", "computed_filter", "computed_map_values", "computed_rekey")

Computed = Callable[[ColumnSource], RecordColumns | Reason]
"""Returns the column processor of an operator for records with the given serdes."""


def computed_filter(function: object, *, keeps: bool) -> Computed | None:
    """Return the columnar form of `filter_` and `filter_not`; None for other functions.

    Args:
        function: The predicate.
        keeps: The result of the predicate for rows that are forwarded.
    """
    if not isinstance(function, TreeFunction):
        return None
    return partial(_made, function, partial(_Filter, keeps=keeps))


def computed_map_values(function: object) -> Computed | None:
    """Return the columnar form of `map_values`; None for other functions."""
    return partial(_made, function, _MapValues) if isinstance(function, TreeFunction) else None


def computed_rekey(function: object) -> Computed | None:
    """Return the columnar form of `rekey`; None for other functions."""
    return partial(_made, function, _Rekey) if isinstance(function, TreeFunction) else None


def _made(
    function: TreeFunction[Any],
    make: Callable[[Computation, ColumnSource], RecordColumns],
    source: ColumnSource,
) -> RecordColumns | Reason:
    found = function.records_computation(source.key, source.value)
    if isinstance(found, str):
        return found
    return make(found, source)


class _Operator(RecordColumns):
    """Base class of the operators.

    Args:
        computation: Computes the results of the user's function.
        source: The serdes of the incoming records.
    """

    def __init__(self, computation: Computation, source: ColumnSource) -> None:
        self._computation = computation
        self._source = source
        self._typed = TypedRecords(source)

    @property
    def reads_values(self) -> bool:
        """Return True: the function reads values."""
        return True

    @property
    def forwarded(self) -> ColumnSource:
        """Return the serdes of the forwarded records."""
        return self._source

    def init(self, context: BatchContext) -> None:
        """Keep the context, and create the buffer of Python objects that have no Arrow type."""
        super().init(context)
        self._held = ObjectColumns()

    def advance(self, stream_time_ms: int) -> None:
        """Release the Python objects of the batch."""
        self._held.clear()

    def process_batch(self, table: pa.Table) -> None:
        """Apply the operator to a table, and forward the resulting rows."""
        columns = partial(self._typed.argument, table)
        try:
            results = self._computation.results(columns, table.num_rows, self._held)
        except RowFailure as failure:
            raise row_error(
                self._typed.table(table), failure.row, failure.reason
            ) from failure.reason
        made = self._applied(table, results)
        if made.num_rows:
            self.context.forward(made)

    @abstractmethod
    def _applied(self, table: pa.Table, results: pa.Array) -> pa.Table:
        """Return the rows to forward, given the result of the function for each row."""


class _Filter(_Operator):
    def __init__(self, computation: Computation, source: ColumnSource, *, keeps: bool) -> None:
        super().__init__(computation, source)
        self._keeps = keeps

    def _applied(self, table: pa.Table, results: pa.Array) -> pa.Table:
        if results.type != pa.bool_() or results.null_count:
            results = pa.array([bool(each) for each in objects_of(results)], pa.bool_())
        kept = table.filter(results if self._keeps else pc.invert(results))
        return self._typed.table(kept)


class _MapValues(_Operator):
    @property
    def forwarded(self) -> ColumnSource:
        return ColumnSource(self._source.key, self._computation.serde, nulls=True)

    def _applied(self, table: pa.Table, results: pa.Array) -> pa.Table:
        return replaced(table, key=self._typed.keys(table.column("key")), value=results)


class _Rekey(_Operator):
    @property
    def forwarded(self) -> ColumnSource:
        return ColumnSource(self._computation.serde, self._source.value, self._source.nulls)

    def _applied(self, table: pa.Table, results: pa.Array) -> pa.Table:
        return replaced(table, key=results, value=self._typed.values(table.column("value")))
