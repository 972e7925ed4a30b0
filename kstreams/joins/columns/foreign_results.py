"""The third stage of a foreign-key join by columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.joins.columns.changes import StoredChanges
from kstreams.joins.foreign_messages import opened_responses
from kstreams.processors.columns import ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.serde.objects import objects_of
from kstreams.state.stores.spec import StoreSpec

__all__ = ("ForeignResultColumns",)


class ForeignResultColumns(StoredChanges):
    """What `ForeignResults` does.

    Args:
        store: Definition of the store of results.
        source: What the responses come from.
    """

    def __init__(self, store: StoreSpec[Any], source: ColumnSource) -> None:
        super().__init__(store)
        self._source = source
        self._changed: set[object] = set()

    def init(self, context: BatchContext) -> None:
        """Get ready to forget, when a batch ends, which rows have changed."""
        super().init(context)
        self._at_end = context.hold(self._forget)

    def process_batch(self, table: pa.Table) -> None:
        """Put results, but those of rows that have said something newer."""
        if not table.num_rows:
            return
        table, keys = self._typed(table, self._source)
        news, results = opened_responses(table.column("value").combine_chunks())
        if not news.all():
            table, keys, results = self._of_now(table, keys, news, results)
        elif keys:
            self._note(keys)
        values = self._spec.value.deserialize_many(results)
        if keys:
            self._put(table, keys, values, objects_of(table.column("timestamp")))

    def _of_now(
        self, table: pa.Table, keys: list[Any], news: npt.NDArray[np.bool_], results: pa.Array
    ) -> tuple[pa.Table, list[Any], pa.Array]:
        """Leave out what was said of a row before it changed, if that is known by then."""
        changed = self._changed
        counted = np.empty(len(keys), bool)
        for place, (key, new) in enumerate(zip(keys, news.tolist(), strict=True)):
            counted[place] = new or key not in changed
            if new:
                self._note((key,))
        if counted.all():
            return table, keys, results
        mask = pa.array(counted)
        kept = [key for key, counts in zip(keys, counted.tolist(), strict=True) if counts]
        return table.filter(mask), kept, results.filter(mask)

    def _note(self, keys: Sequence[object]) -> None:
        if not self._changed:
            self._at_end(None)
        self._changed.update(keys)

    def _forget(self, _: Sequence[object]) -> None:
        self._changed.clear()
