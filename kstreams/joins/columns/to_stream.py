"""Convert tables to streams by columns."""

from __future__ import annotations

from collections.abc import Sequence
from operator import ne
from typing import Any

import pyarrow as pa

from kstreams.joins.columns.changes import Changes, ChangesProcessor
from kstreams.joins.columns.ends import ends_of
from kstreams.processors.context import BatchContext
from kstreams.processors.each_row import replaced
from kstreams.serde.base import Serde

__all__ = ("StreamOfChanges",)


class StreamOfChanges(ChangesProcessor):
    """The columnar form of `ToStream`.

    Args:
        key: The serde of the table's keys.
        each: Whether to forward every change, or only the last change of each key in a batch.
    """

    def __init__(self, key: Serde[Any], *, each: bool) -> None:
        self._key = key
        self._each = each

    def init(self, context: BatchContext) -> None:
        """Register the release of buffered changes at the end of a batch."""
        super().init(context)
        self._hold = context.hold(self._release)

    def process_batch(self, table: pa.Table) -> None:
        """Forward new values, or buffer the changes until the end of the batch."""
        changes = Changes.of(table)
        if self._each:
            values = self._objects.column(changes.news)
            self.context.forward(replaced(table, value=values))
        else:
            self._hold(changes)

    def _release(self, items: Sequence[Changes]) -> None:
        ends = ends_of(items, self._key, self._objects)
        ends = ends.kept(list(map(ne, ends.news, ends.olds)))
        if ends.news:
            columns = [ends.keys, self._objects.column(ends.news), pa.array(ends.times)]
            self.context.forward(pa.table(columns, ["key", "value", "timestamp"]))
