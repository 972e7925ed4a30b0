"""Where changes leave the tables, by columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kstreams.joins.columns.changes import Changes, ChangesProcessor, changes_of
from kstreams.joins.compaction import ends_of
from kstreams.processors.context import BatchContext
from kstreams.serde.base import Serde

__all__ = ("StreamOfChanges",)


class StreamOfChanges(ChangesProcessor):
    """What `ToStream` does.

    Args:
        key: Serde of the table's keys.
        each: Forward each change, rather than the last of each key and batch.
    """

    def __init__(self, key: Serde[Any], *, each: bool) -> None:
        self._key = key
        self._each = each

    def init(self, context: BatchContext) -> None:
        """Get ready to hold changes back."""
        super().init(context)
        self._hold = context.hold(self._release)

    def process_batch(self, table: pa.Table) -> None:
        """Forward new values, or hold changes back."""
        changes = changes_of(table)
        if self._each:
            self._forward(table, [change.new for change in changes[1]])
        else:
            self._hold(changes)

    def _release(self, items: Sequence[Changes]) -> None:
        left = [(key, new, time) for key, old, new, time in ends_of(items, self._key) if new != old]
        if left:
            keys, values, times = map(list, zip(*left, strict=True))
            columns = [self._objects.column(keys), self._objects.column(values), pa.array(times)]
            self.context.forward(pa.table(columns, ["key", "value", "timestamp"]))
