"""Nodes that work by records, or by columns with the same results."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.compute as pc

from kstreams.ids import TaskId
from kstreams.processors.context import BatchContext
from kstreams.processors.processor import BatchProcessor
from kstreams.serde.base import Serde
from kstreams.serde.carried import carried_objects

__all__ = (
    "LAST_PLACE",
    "PLACE",
    "STREAM_TIME",
    "BatchEndSupplier",
    "ChainedSupplier",
    "ColumnAnswerSupplier",
    "ColumnChangesSupplier",
    "ColumnInterceptor",
    "ColumnJoinProcessor",
    "ColumnJoinSupplier",
    "ColumnLookupSupplier",
    "ColumnProcessor",
    "ColumnSource",
    "ColumnSupplier",
    "ColumnTableJoinSupplier",
    "ColumnTableSupplier",
    "Execution",
    "TableViewSupplier",
)

Execution = Literal["auto", "records", "columns"]
"""The execution of a node: by columns if possible (`auto`), by records (`records`), or by columns
(`columns`, an error if that is not possible).
"""

STREAM_TIME = "stream_time"
"""The column (int64, ms) with the task's stream time as of each row."""


PLACE = "place"
"""The column (int64) with the place of each row among all that the task has taken: rows of
different inputs of a node are in order by it."""

LAST_PLACE = (1 << 40) - 1
"""A place behind all others."""


@dataclass(frozen=True)
class ColumnSource:
    """The input of a node.

    Args:
        key: The serde of the keys.
        value: The serde of the values.
        nulls: Whether values may be null.
        punctuated: Whether a node below has a stream-time punctuator.
    """

    key: Serde[Any]
    value: Serde[Any]
    nulls: bool
    punctuated: bool

    def objects(self, column: pa.ChunkedArray) -> list[Any]:
        """Return the objects of a column of values.

        Raises:
            DeserializationError: The serde cannot read a value.
        """
        return carried_objects(self.value, column.combine_chunks())


class ColumnProcessor(BatchProcessor[Any, Any, Any, Any]):
    """A record processor in its form for columns.

    Directly below sources or repartition edges, `process_batch` gets the columns `key` (binary, as
    in the topic, known to decode; null where nulls pass), `value` (in the `carried` form, or null
    unless `reads_values`), `timestamp`, `headers`, `stream_time` and `place`. Below another column
    processor it gets the table that the processor forwards: keys and values of any type. A
    forwarded table may have a column `stream_time`: a record processor below then sees it as the
    current stream time.
    """

    @property
    @abstractmethod
    def reads_values(self) -> bool:
        """Return whether values are looked at: if not, they are not decoded."""

    def init(self, context: BatchContext) -> None:
        """Keep the context."""
        self.context = context

    def without_nulls(self, table: pa.Table, name: str) -> pa.Table:
        """Drop the records whose column `name` is null, for the reason `null-<name>`."""
        nulls = table.column(name).null_count
        if not nulls:
            return table
        self.context.drop(f"null-{name}", nulls)
        return table.filter(pc.is_valid(table.column(name)))

    def advance(self, stream_time_ms: int) -> None:
        """Do what stream time has made due, be it by records that went elsewhere or by none.

        Called once a batch, after the records; it may be a time that a table had already.
        """


class ColumnJoinProcessor(ColumnProcessor):
    """A processor with two inputs in its form for columns: it takes both sides, then joins."""

    def process_batch(self, table: pa.Table) -> None:
        """Fail: there are two inputs."""
        raise NotImplementedError

    @abstractmethod
    def take_left(self, table: pa.Table) -> None:
        """Take rows of the left input; they are joined by the next `join`."""

    @abstractmethod
    def take_right(self, table: pa.Table) -> None:
        """Take rows of the right input; they are joined by the next `join`."""

    @abstractmethod
    def join(self) -> None:
        """Join the taken tables in the order of `place`, and forward results in that order."""


@runtime_checkable
class ColumnSupplier(Protocol):
    """A supplier of record processors whose work can be done by columns too."""

    @property
    def execution(self) -> Execution:
        """Return how the node is to run."""
        ...

    def column_processor(self, source: ColumnSource) -> ColumnProcessor | str:
        """Return a new processor that works by columns, or why there is none."""
        ...


@runtime_checkable
class ColumnJoinSupplier(Protocol):
    """A supplier of processors with two inputs whose work can be done by columns too."""

    @property
    def execution(self) -> Execution:
        """Return how the node is to run."""
        ...

    def column_join(self, left: ColumnSource, right: ColumnSource) -> ColumnProcessor | str:
        """Return a new processor that works by columns, or why there is none.

        One that is no `ColumnJoinProcessor` gets the left input alone.
        """
        ...


@runtime_checkable
class ColumnTableSupplier(Protocol):
    """A supplier of processors that keep a table, for joins that look it up by columns."""

    def column_table(self, source: ColumnSource) -> ColumnProcessor | str:
        """Return a new processor that works by columns, or why there is none.

        It forwards nothing.
        """
        ...


@runtime_checkable
class ColumnChangesSupplier(Protocol):
    """A supplier of processors that keep a table and forward its changes."""

    def column_changes(self, source: ColumnSource | None) -> ColumnProcessor | str:
        """Return a new column processor, or the reason why there is none.

        Args:
            source: The input; None below another column processor.
        """
        ...


@runtime_checkable
class ColumnTableJoinSupplier(Protocol):
    """A supplier of joins of two tables, each kept by a `ColumnChangesSupplier`."""

    def column_table_join(self) -> ColumnProcessor | str:
        """Return a new processor of both tables' changes by columns, or why there is none."""
        ...


@runtime_checkable
class BatchEndSupplier(Protocol):
    """A supplier that may say that its processors forward nothing before a batch ends."""

    @property
    def at_batch_end(self) -> bool:
        """Return whether all is forwarded when a batch ends, by records and by columns."""
        ...


@runtime_checkable
class ColumnAnswerSupplier(Protocol):
    """A supplier of joins that take changes of a table, and read it when a batch ends."""

    def column_answer(self, source: ColumnSource) -> ColumnProcessor:
        """Return a new column processor.

        Args:
            source: The left input; the right input is a table by columns.
        """
        ...


@runtime_checkable
class ColumnLookupSupplier(Protocol):
    """A supplier of joins whose right input is a table, kept by a `ColumnTableSupplier`."""

    @property
    def execution(self) -> Execution:
        """Return how the node is to run."""
        ...

    def column_lookup(self, source: ColumnSource | None) -> ColumnProcessor | str:
        """Return a new column processor of the left input, or the reason why there is none.

        Args:
            source: The left input; None below another column processor.
        """
        ...


@runtime_checkable
class TableViewSupplier(Protocol):
    """A supplier of processors that make a table of another one."""

    @property
    def is_view(self) -> bool:
        """Return whether it keeps nothing: who looks the table up reads the other one."""
        ...


@runtime_checkable
class ChainedSupplier(Protocol):
    """A supplier of record processors that keep nothing, and can follow a column processor."""

    def chained(self) -> ColumnProcessor | str:
        """Return a new processor for tables of a column processor, or the reason against it."""
        ...


@runtime_checkable
class ColumnInterceptor(Protocol):
    """An interceptor that can be around column processors too.

    With any other interceptor all nodes of an app run by records.
    """

    def bind_columns(
        self, node: str, task: TaskId, process_batch: Callable[[pa.Table], None]
    ) -> Callable[[pa.Table], None]:
        """Return the replacement of `process_batch`; for a join, of each input's call.

        The join runs within the last of these calls.
        """
        ...
