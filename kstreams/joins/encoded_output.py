"""The additional context of a join's stages, besides that of a processor."""

from __future__ import annotations

from typing import Any, Protocol, cast

import pyarrow as pa

from kstreams.processors.context import BatchContext, ProcessorContext

__all__ = ("EncodedContext", "encoded_context", "encoded_table")


class EncodedContext(Protocol):
    """A context that takes records as they go over repartition edges: encoded, many at a time."""

    @property
    def may_skip(self) -> bool:
        """Whether a record that fails may be passed over: then each is done by itself."""
        ...

    def forward_encoded(self, child: str, table: pa.Table) -> None:
        """Hand records to the edge of this name: a table that `encoded_table` has made."""
        ...


def encoded_context(context: ProcessorContext[Any, Any] | BatchContext) -> EncodedContext:
    """Return the context of a task with its actual type."""
    return cast("EncodedContext", context)


def encoded_table(keys: pa.Array, values: pa.Array, times: pa.Array) -> pa.Table:
    """Return records as a table: key and value in bytes, and times in ms since the epoch."""
    return pa.table([keys, values, times], ["key", "value", "timestamp"])
