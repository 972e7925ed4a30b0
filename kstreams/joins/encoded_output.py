"""The context for join stages that send encoded records to other tasks."""

from __future__ import annotations

from typing import Any, Protocol, cast

import pyarrow as pa

from kstreams.processors.context import BatchContext, ProcessorContext

__all__ = ("EncodedContext", "encoded_context", "encoded_table")


class EncodedContext(Protocol):
    """A task's context that sends batches of encoded records over repartition edges."""

    @property
    def may_skip(self) -> bool:
        """Whether a failed record may be skipped.

        If so, each record must be processed separately.
        """
        ...

    def forward_encoded(self, child: str, table: pa.Table) -> None:
        """Send a table, as built by `encoded_table`, over the edge named `child`."""
        ...


def encoded_context(context: ProcessorContext[Any, Any] | BatchContext) -> EncodedContext:
    """Return the context, cast to `EncodedContext`."""
    return cast("EncodedContext", context)


def encoded_table(keys: pa.Array, values: pa.Array, times: pa.Array) -> pa.Table:
    """Return a table of encoded keys, encoded values, and times in ms since the epoch."""
    return pa.table([keys, values, times], ["key", "value", "timestamp"])
