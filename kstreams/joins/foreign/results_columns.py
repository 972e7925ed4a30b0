"""The third stage of a foreign-key join by columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa

from kstreams._types import Bools
from kstreams.joins.columns.changes import StoredChanges
from kstreams.joins.foreign.foreign_messages import opened_responses
from kstreams.processors.columns import ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.serde.objects import objects_of
from kstreams.state.stores.spec import StoreSpec

__all__ = ("ForeignResultColumns",)


class ForeignResultColumns(StoredChanges):
    """The columnar form of `ForeignResults`.

    Args:
        store: The store of results.
        source: The source of the responses.
    """

    def __init__(self, store: StoreSpec[Any], source: ColumnSource) -> None:
        super().__init__(store)
        self._source = source
        self._told: list[Collection[object]] = []

    def init(self, context: BatchContext) -> None:
        """Arrange that the set of changed rows is cleared at the end of the batch."""
        super().init(context)
        self._at_end = context.hold(self._forget)

    def process_batch(self, table: pa.Table) -> None:
        """Put results, except results of rows for which a newer response has arrived."""
        if not table.num_rows:
            return
        table = self._typed(table, self._source)
        news, results = opened_responses(table.column("value").combine_chunks())
        if news.all():
            self._note(objects_of(table.column("key")))
        elif news.any() or self._told:
            table, results = self._of_now(table, news, results)
        values = self._spec.value.deserialize_many(results)
        if values:
            self._put(table, values)

    def _of_now(self, table: pa.Table, news: Bools, results: pa.Array) -> tuple[pa.Table, pa.Array]:
        """Drop responses to a row's earlier state if a newer response has arrived in the batch.

        Returns the remaining rows of `table` and of `results`.

        Args:
            table: The keys, timestamps and headers of the responses.
            news: The mask of responses to a change in this batch.
            results: The encoded results.
        """
        changed, counted = set[object]().union(*self._told), []
        for key, new in zip(objects_of(table.column("key")), news.tolist(), strict=True):
            counted.append(new or key not in changed)
            if new:
                changed.add(key)
        self._told.clear()
        self._note(changed)
        if all(counted):
            return table, results
        mask = pa.array(counted)
        return table.filter(mask), results.filter(mask)

    def _note(self, changed: Collection[object]) -> None:
        """Remember the keys of changed rows until the end of the batch."""
        self._told.append(changed)
        self._at_end(None)

    def _forget(self, _: Sequence[object]) -> None:
        self._told.clear()
