"""Nodes that work record by record, or on whole columns with the same results."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from kstreams.ids import TaskId
from kstreams.processors.context import BatchContext
from kstreams.processors.processor import BatchProcessor
from kstreams.serde.base import Serde

__all__ = (
    "STREAM_TIME",
    "ColumnInterceptor",
    "ColumnSource",
    "ColumnarProcessor",
    "ColumnarSupplier",
    "Path",
)

Path = Literal["auto", "record", "vector"]
"""How a node runs: on columns where it can (`auto`), never, or always (else it is an error)."""

STREAM_TIME = "stream_time"
"""The column (int64, ms) with the task's stream time as of each row."""


@dataclass(frozen=True)
class ColumnSource:
    """What a node's records come from.

    Args:
        key: Serde of the keys.
        value: Serde of the values.
        nulls: Whether values may be null.
        punctuated: Whether a node below has a stream-time punctuator.
    """

    key: Serde[Any]
    value: Serde[Any]
    nulls: bool
    punctuated: bool


class ColumnarProcessor(BatchProcessor[Any, Any, Any, Any]):
    """The columnar form of a record processor.

    It stands right below sources or repartition edges. `process_batch` gets columns `key`
    (binary, as the keys came, known to decode; null keys where they pass), `value` (as
    the serde's `to_arrow` makes it, or nulls unless `reads_values`), `timestamp`,
    `headers` and `stream_time`. What it forwards may have a column `stream_time` too: a
    record processor below then sees it as the present one.
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

        Called once a batch, behind the records; it may be a time that a table had already.
        """


class ColumnarSupplier(Protocol):
    """A supplier of record processors that have a columnar form."""

    @property
    def path(self) -> Path:
        """Return how the node is to run."""
        ...

    def columnar(self, source: ColumnSource) -> ColumnarProcessor | str:
        """Return a new processor of the columnar form, or why there is none."""
        ...


class ColumnInterceptor(Protocol):
    """An interceptor that can be around columnar processors too.

    With any other interceptor all nodes of an app run record by record.
    """

    def bind_columns(
        self, node: str, task: TaskId, process_batch: Callable[[pa.Table], None]
    ) -> Callable[[pa.Table], None]:
        """Return what is called in place of `process_batch`."""
        ...
