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
    "ColumnInterceptor",
    "ColumnJoinProcessor",
    "ColumnProcessor",
    "ColumnSource",
    "Execution",
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
    """

    key: Serde[Any]
    value: Serde[Any]
    nulls: bool

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
