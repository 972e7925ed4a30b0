"""Aggregate records into a table by columns."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.aggregators.columns.stamped import StampedForm
from kstreams.joins.columns.changes import OLD_TIME, ChangesProcessor
from kstreams.processors.columns import PLACE, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.processors.each_row import naming, replaced
from kstreams.processors.keyed_states import KeyedRows, KeyedStates
from kstreams.serde.layout import Columns
from kstreams.serde.objects import object_column, objects_of
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.table_columns import TableColumns

__all__ = ("AggregateChanges", "AggregateRows")


class _AggregateTable(ChangesProcessor):
    """Base class of the columnar forms of `AggregateTable`.

    The functions of the aggregator are called once for each record, as in execution by records.

    Args:
        form: The column form of the aggregator.
        store: The store of the aggregator's states; nothing else writes to it.
        source: The input of the records.
    """

    def __init__(self, form: StampedForm, store: StoreSpec[Any], source: ColumnSource) -> None:
        self._states = KeyedStates(form, store, source)
        self._spec = store

    @property
    def reads_values(self) -> bool:
        """Return True if the aggregator reads values, or if null values must be dropped."""
        return self._states.reads_values

    def init(self, context: BatchContext) -> None:
        """Open the store."""
        super().init(context)
        self._states.open(context)

    def process_batch(self, table: pa.Table) -> None:
        """Aggregate the records of a table."""
        for name in self._states.required:
            table = self.without_nulls(table, name)
        if not table.num_rows:
            return
        self._prepare()
        rows = self._states.of_rows(table)
        with naming(table, self._states.source.key, rows.groups.order):
            after = self._states.form.after_each(
                rows.lifted, rows.groups.runs, rows.before, rows.places
            )
        keys = rows.keys.typed.take(pa.array(rows.keys.codes))
        self._take(replaced(table, key=keys), rows, after)

    def _prepare(self) -> None:
        """Prepare the store for the reads of a further table."""

    @abstractmethod
    def _take(self, table: pa.Table, rows: KeyedRows, after: Columns) -> None:
        """Keep the states, and forward the changes.

        Args:
            table: The records, with their keys decoded.
            rows: The records by key, with the stored states.
            after: The state after each record, sorted by key.
        """


class AggregateChanges(_AggregateTable):
    """The columnar form of an `AggregateTable` that forwards each change, in record order."""

    def _take(self, table: pa.Table, rows: KeyedRows, after: Columns) -> None:
        form, groups = self._states.form, rows.groups
        last = tuple(column[groups.runs.lasts] for column in after)
        self._states.store.write(rows.handles, last)
        news = object_column(objects_of(form.result(after)))
        stored = object_column(objects_of(form.result(rows.before)) if len(rows.places) else ())
        olds = _before_each(rows, news, stored, None)[groups.arrival]
        old_times = _before_each(rows, after[0], rows.before[0], 0)[groups.arrival]
        table = replaced(table, timestamp=pa.array(after[0][groups.arrival]))
        table = table.append_column(OLD_TIME, pa.array(old_times, pa.int64()))
        self._forward(table, news[groups.arrival].tolist(), olds.tolist())


class AggregateRows(_AggregateTable):
    """The columnar form of an `AggregateTable` that only stream-table joins read.

    It forwards nothing. It keeps the state after each record, because a joined record looks up the
    state as of its own position.
    """

    def init(self, context: BatchContext) -> None:
        """Open the store, and its rows that the joins look up."""
        super().init(context)
        self._table: TableColumns = self._spec.kind.table_columns(
            self._spec, context.store(self._spec)
        )

    def advance(self, stream_time_ms: int) -> None:
        """Write the buffered states of the batch to the store, after the joins have read them."""
        super().advance(stream_time_ms)
        self._table.settle()

    def _prepare(self) -> None:
        self._table.settle()

    def _take(self, table: pa.Table, rows: KeyedRows, after: Columns) -> None:
        ordered = tuple(column[rows.groups.arrival] for column in after)
        self._table.put(
            table.column("key").combine_chunks(),
            self._states.store.objects(ordered),
            ordered[0].tolist(),
            table.column(PLACE).to_numpy(),
        )


def _before_each(
    rows: KeyedRows,
    after: npt.NDArray[Any],
    stored: npt.NDArray[Any],
    missing: object,
) -> npt.NDArray[Any]:
    """Return one column of the table rows that the records replace, sorted by key like `after`.

    Args:
        rows: The records by key.
        after: The column of the rows after each record, sorted by key.
        stored: The column of the stored rows.
        missing: The value for a record without an earlier row.
    """
    runs = rows.groups.runs
    found = np.empty_like(after)
    found[1:] = after[:-1]
    found[runs.firsts] = missing
    if len(rows.places):
        found[runs.firsts[rows.places]] = stored
    return found
