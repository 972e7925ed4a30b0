"""Nodes that run by records, or by columns with the same results."""

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
    "RecordColumns",
)

Execution = Literal["auto", "records", "columns"]
"""The execution of a node: by columns if possible (`auto`), by records (`records`), or by columns
(`columns`, an error if that is not possible).
"""

STREAM_TIME = "stream_time"
"""The column (int64, ms) with the task's stream time as of each row."""


PLACE = "place"
"""The column (int64) with each row's position among all records that the task reads in a batch;
rows of different inputs of a node are ordered by position.
"""

LAST_PLACE = (1 << 40) - 1
"""A position after all other positions."""


@dataclass(frozen=True)
class ColumnSource:
    """The serdes of the encoded records that a columnar node reads from sources or edges.

    Args:
        key: The serde of the keys.
        value: The serde of the values.
        nulls: Whether values may be null.
    """

    key: Serde[Any]
    value: Serde[Any]
    nulls: bool

    def objects(self, column: pa.ChunkedArray) -> list[Any]:
        """Decode a column of values to objects.

        Raises:
            DeserializationError: The serde cannot read a value.
        """
        return carried_objects(self.value, column.combine_chunks())


class ColumnProcessor(BatchProcessor[Any, Any, Any, Any]):
    """Base class of column processors, the columnar forms of record processors.

    Directly below sources or repartition edges, `process_batch` receives the columns `key` (binary,
    as in the topic, checked to be decodable; null if null keys pass), `value` (as returned by
    `kstreams.serde.carried`; null unless `reads_values`), `timestamp`, `headers`, `stream_time` and
    `place` (see `PLACE`). Below another column processor, `process_batch` receives the table which
    that processor forwards, with keys and values of any type. If a forwarded table has a column
    `stream_time`, a record processor below uses this column as the current stream time.
    """

    @property
    @abstractmethod
    def reads_values(self) -> bool:
        """Return whether the processor reads values; if not, values are not decoded."""

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
        """Do the work that is due at a stream time, such as closing windows.

        Called once per batch, after the records, even if the node received no records. The stream
        time may be equal to the one in the last table.
        """


class RecordColumns(ColumnProcessor):
    """A column processor that forwards records, which column processors below can read as such."""

    @property
    @abstractmethod
    def forwarded(self) -> ColumnSource:
        """Return the serdes of the forwarded records."""


class ColumnJoinProcessor(ColumnProcessor):
    """A column processor with two inputs: it buffers the tables of both sides, then joins them."""

    def process_batch(self, table: pa.Table) -> None:
        """Raise `NotImplementedError`: the processor has two inputs."""
        raise NotImplementedError

    @abstractmethod
    def take_left(self, table: pa.Table) -> None:
        """Buffer rows of the left input for the next `join`."""

    @abstractmethod
    def take_right(self, table: pa.Table) -> None:
        """Buffer rows of the right input for the next `join`."""

    @abstractmethod
    def join(self) -> None:
        """Join the buffered tables in the order of `place`, and forward results in that order."""


@runtime_checkable
class ColumnInterceptor(Protocol):
    """An interceptor that can also wrap column processors.

    If an app has an interceptor without this method, all of its nodes run by records.
    """

    def bind_columns(
        self, node: str, task: TaskId, process_batch: Callable[[pa.Table], None]
    ) -> Callable[[pa.Table], None]:
        """Return the function to call instead of `process_batch`, which processes a node's table.

        The returned function may check, change or time tables, and calls `process_batch`.
        For a join, `process_batch` is called once for each input; the last of these calls runs the
        join.
        """
        ...
