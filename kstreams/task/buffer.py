"""Buffers of batch processors: rows, records and tables until the next flush."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams.errors import ProcessingError, Where
from kstreams.graph.nodes import ProcessorNode
from kstreams.processors.columns import ColumnProcessor
from kstreams.processors.processor import BatchProcessor
from kstreams.quoting import text_of
from kstreams.record import Record
from kstreams.serde.object_columns import ObjectColumns, refers_to_objects
from kstreams.task.records.columns import COLUMNS, arrow_type_of, concat, table_of, whole
from kstreams.task.records.decoding import Form

__all__ = ("BatchBuffer", "ColumnBuffer", "frozen")

_MOST_BYTES = 1 << 30
"""The maximum bytes of a joined table: an Arrow column cannot exceed 2 GiB."""

_Item = int | Record[Any, Any]


class BatchBuffer:
    """Buffers the input of one batch processor, in the order of forwarding.

    A record that comes directly from a source, edge or loop is buffered as a row number of the
    batch's table (`feed`). The columns of its key and value then have the types of the serdes, and
    its partition and offset are kept.

    Attributes:
        form: The decoding of keys and values of the table of `feed`; see the function `formed`.
        count: The number of records that the processor got; `Wiring.clear_counts` resets it.
    """

    form: Form = "typed"

    def __init__(self, node: ProcessorNode, processor: BatchProcessor[Any, Any, Any, Any]) -> None:
        self.node = node.name
        self._process_batch: Callable[[pa.Table], None] = processor.process_batch
        self._types = [arrow_type_of(token) for token in node.types_in]
        self._items: list[_Item] = []
        self._tables: list[pa.Table] = []
        self._feed: pa.Table | None = None
        self.count = 0
        self.take_row = self._items.append

    def feed(self, table: pa.Table | None) -> None:
        """Set the table to which the row numbers of `take_row` refer; called before each batch."""
        self._feed = table

    def take(self, record: Record[Any, Any]) -> None:
        """Buffer a record; later changes of its key or value have no effect."""
        self._items.append(frozen(record))

    def take_table(self, table: pa.Table) -> None:
        """Buffer a table that a batch processor, source, edge or loop forwards."""
        self._settle()
        try:
            self._tables.append(self._whole(table))
        except (pa.ArrowException, KeyError, ValueError) as exc:
            raise self._misfit(exc) from exc

    def mark(self) -> tuple[int, int]:
        """Return the numbers of buffered items and tables, as a mark for `cut`."""
        return len(self._items), len(self._tables)

    def cut(self, mark: tuple[int, int]) -> None:
        """Drop the records that were buffered since a mark."""
        del self._items[mark[0] :]
        del self._tables[mark[1] :]

    def flush(self) -> None:
        """Pass the buffered records to the processor, as one table if it fits into columns."""
        self._settle()
        tables, self._tables = [table for table in self._tables if table.num_rows], []
        for group in _groups(tables):
            try:
                table = self._joined(group)
            except pa.ArrowException as exc:
                raise self._misfit(exc) from exc
            self.count += table.num_rows
            self._process_batch(table)

    def _whole(self, table: pa.Table) -> pa.Table:
        return whole(table)

    def _joined(self, tables: list[pa.Table]) -> pa.Table:
        return concat(tables).select(list(COLUMNS)).combine_chunks()

    def _settle(self) -> None:
        """Convert the buffered rows and records to a table."""
        if not self._items:
            return
        items = self._items[:]
        self._items.clear()
        try:
            self._tables.append(self._table(items))
        except (pa.ArrowException, TypeError, OverflowError) as exc:
            raise self._misfit(exc) from exc

    def _table(self, items: list[_Item]) -> pa.Table:
        if self._feed is None:
            return table_of(items, *self._types)  # type: ignore[arg-type]  # only records then
        rows = np.array([item for item in items if isinstance(item, int)], np.int64)
        taken = _taken(self._feed, rows)
        if len(rows) == len(items):
            return taken
        records = [item for item in items if isinstance(item, Record)]
        made = table_of(records, *self._types)
        is_record = np.array([isinstance(item, Record) for item in items])
        places = np.argsort(np.argsort(is_record, kind="stable"), kind="stable")
        return concat([taken, made]).take(pa.array(places))

    def _misfit(self, exc: Exception) -> ProcessingError:
        return ProcessingError(
            f"the forwarded object is not convertible to an Arrow table: {text_of(exc)}",
            hint="to a batch processor, forward text, bytes, numbers, bools, lists or dicts, of "
            "one type per column; tables need the columns key, value and timestamp (int64).",
            where=Where(node=self.node),
        )


class ColumnBuffer(BatchBuffer):
    """Buffers the input of a column processor, or of one of its inputs.

    Args:
        node: The node.
        processor: The processor of the node.
        process_batch: A function that replaces `process_batch` of the processor.
        after: Called at the end of each flush.
    """

    def __init__(
        self,
        node: ProcessorNode,
        processor: ColumnProcessor,
        process_batch: Callable[[pa.Table], None],
        after: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(node, processor)
        self.form = "values" if processor.reads_values else "keys"
        self._held = ObjectColumns()
        self._process_batch = process_batch
        self._after = after

    def take(self, record: Record[Any, Any]) -> None:
        """Buffer a record without a copy: the library's nodes do not change records later."""
        self._items.append(record)

    def flush(self) -> None:
        """Pass the buffered records to the processor."""
        super().flush()
        if self._after is not None:
            self._after()

    def _table(self, items: list[_Item]) -> pa.Table:
        """Return the buffered items as a table; the items are all row numbers, or all records."""
        records = [item for item in items if isinstance(item, Record)]
        if not records:
            return super()._table(items)
        self._held.clear()  # of a release before, which is done with
        columns = {
            "key": self._held.column([record.key for record in records]),
            "value": self._held.column([record.value for record in records]),
            "timestamp": pa.array([record.timestamp for record in records], pa.int64()),
        }
        return pa.table(columns)

    def _whole(self, table: pa.Table) -> pa.Table:
        return table

    def _joined(self, tables: list[pa.Table]) -> pa.Table:
        return concat(tables).combine_chunks()


def _groups(tables: Sequence[pa.Table]) -> Iterator[list[pa.Table]]:
    """Yield groups of consecutive tables that can be concatenated and fit into one table."""
    group: list[pa.Table] = []
    held = 0
    for table in tables:
        size = table.nbytes
        if group and (held + size > _MOST_BYTES or not _fit(group[-1], table)):
            yield group
            group, held = [], 0
        group.append(table)
        held += size
    if group:
        yield group


def _fit(one: pa.Table, other: pa.Table) -> bool:
    """Return whether two tables can be concatenated.

    A column whose items refer to Python objects (`ObjectColumns`) needs the same type in both.
    """
    kinds = zip(one.schema.types, other.schema.types, strict=False)
    return all(a == b or not (refers_to_objects(a) or refers_to_objects(b)) for a, b in kinds)


def _taken(table: pa.Table, rows: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Table:
    """Return the table's rows with the given ascending numbers; a slice if they are consecutive."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
        return table.slice(int(rows[0]), len(rows))
    return table.take(pa.array(rows))


_IMMUTABLE = frozenset({str, bytes, int, float, bool, type(None)})


def frozen(record: Record[Any, Any]) -> Record[Any, Any]:
    """Return the record, or a deep copy if its key or value may be mutable."""
    if type(record.key) in _IMMUTABLE and type(record.value) in _IMMUTABLE:
        return record
    return Record(deepcopy(record.key), deepcopy(record.value), record.timestamp, record.headers)
