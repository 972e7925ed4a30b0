"""The columnar forms of the processors of `TopologyBuilder.branch` and `merge`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from kstreams._types import Bools, Ints
from kstreams.columns.row_failure import RowFailure, called
from kstreams.expressions.computation import Computation
from kstreams.processors.columns import ColumnProcessor, ColumnSource, RecordColumns
from kstreams.processors.context import BatchContext
from kstreams.processors.each_row import EachRow, row_error
from kstreams.processors.record_columns import TypedRecords
from kstreams.serde.object_columns import ObjectColumns
from kstreams.serde.objects import object_column, objects_of

__all__ = ("BranchColumns", "Branches", "ComputedBranch", "ForwardColumns", "ForwardRecords")

T = TypeVar("T")
"""A predicate of key and value, or its computation."""


@dataclass(frozen=True)
class Branches(Generic[T]):
    """The children of a `Branch`, with their predicates.

    Attributes:
        tests: The names of the children and their predicates, in the order of evaluation.
        default: The child of rows for which no predicate is true; None drops them.
    """

    tests: tuple[tuple[str, T], ...]
    default: str | None

    def forward(self, table: pa.Table, results: _Results[T], context: BatchContext) -> None:
        """Forward to each child its rows of a table, in the order of the table.

        A predicate is evaluated for the rows for which no previous one is true.

        Args:
            table: The rows.
            results: Returns the results of a predicate for the rows with the given numbers.
            context: The context of the node.

        Raises:
            ProcessingError: A predicate raised; the error names the first row at which one did.
        """
        waiting, found = np.arange(table.num_rows), list[tuple[str, Ints]]()
        failure: RowFailure | None = None
        for child, test in self.tests:
            true: Bools | None = None
            while true is None:
                try:
                    true = np.array(called(bool, results(test, waiting)), np.bool_)
                except RowFailure as exc:  # a later predicate may raise at a previous row
                    failure = RowFailure(int(waiting[exc.row]), exc.reason)
                    waiting = waiting[: exc.row]
            found.append((child, waiting[true]))
            waiting = waiting[~true]
        if failure is not None:
            raise row_error(table, failure.row, failure.reason) from failure.reason
        if self.default is not None:
            found.append((self.default, waiting))
        elif len(waiting):
            context.drop("no-branch", len(waiting))
        for child, rows in found:
            if len(rows):
                whole = len(rows) == table.num_rows
                context.forward_to(child, table if whole else table.take(pa.array(rows)))


_Results: TypeAlias = Callable[[T, Ints], Sequence[Any]]


class ForwardColumns(ColumnProcessor):
    """The columnar form of `PassThrough`."""

    @property
    def reads_values(self) -> bool:
        """Return True: nodes downstream may read values."""
        return True

    def process_batch(self, table: pa.Table) -> None:
        """Forward the table."""
        self.context.forward(table)


class ForwardRecords(ForwardColumns, RecordColumns):
    """The columnar form of `PassThrough` for records as they come from a source.

    Args:
        source: The serdes of the records.
    """

    def __init__(self, source: ColumnSource) -> None:
        self._source = source
        self._typed = TypedRecords(source)

    @property
    def forwarded(self) -> ColumnSource:
        """Return the serdes of the records."""
        return self._source

    def process_batch(self, table: pa.Table) -> None:
        """Forward the table with typed keys and values."""
        self.context.forward(self._typed.table(table))


class BranchColumns(EachRow):
    """The columnar form of `Branch`.

    Args:
        branches: The children and their predicates.
    """

    def __init__(self, branches: Branches[Callable[[Any, Any], bool]]) -> None:
        self._branches = branches

    def process_batch(self, table: pa.Table) -> None:
        """Forward the rows to the children."""
        keys, values = (object_column(objects_of(table.column(name))) for name in ("key", "value"))

        def results(test: Callable[[Any, Any], bool], rows: Ints) -> list[Any]:
            return called(test, keys[rows].tolist(), values[rows].tolist())

        self._branches.forward(table, results, self.context)


class ComputedBranch(ForwardRecords):
    """The columnar form of `Branch` with predicates that are computed by columns.

    Args:
        branches: The children and the computations of their predicates.
        source: The serdes of the records.
    """

    def __init__(self, branches: Branches[Computation], source: ColumnSource) -> None:
        super().__init__(source)
        self._branches = branches

    def process_batch(self, table: pa.Table) -> None:
        """Forward the rows to the children."""

        def results(test: Computation, rows: Ints) -> list[Any]:
            columns = partial(self._typed.argument, table.take(pa.array(rows)))
            held = ObjectColumns()  # the results are read at once
            return objects_of(test.results(columns, len(rows), held))

        self._branches.forward(self._typed.table(table), results, self.context)
