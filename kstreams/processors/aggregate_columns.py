"""Columnar aggregation by key, without windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams.aggregators.columns.stamped import StampedForm
from kstreams.processors.columns import STREAM_TIME, ColumnProcessor, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.processors.each_row import naming
from kstreams.processors.keyed_states import KeyedStates
from kstreams.serde.layout import Columns
from kstreams.state.stores.spec import StoreSpec

__all__ = ("AggregateColumns",)


class AggregateColumns(ColumnProcessor):
    """The columnar form of `aggregate`.

    Args:
        form: The column form of the aggregator.
        store: The store of the aggregator's states.
        source: The serdes of the incoming records.
        each: Whether to forward each update; otherwise the last update of each key in a batch.
    """

    def __init__(
        self, form: StampedForm, store: StoreSpec[Any], source: ColumnSource, *, each: bool
    ) -> None:
        self._states = KeyedStates(form, store, source)
        self._form = form
        self._each = each

    @property
    def reads_values(self) -> bool:
        """Return True if the aggregator reads values, or if null values must be dropped."""
        return self._states.reads_values

    def init(self, context: BatchContext) -> None:
        """Open the store, and schedule the forwarding of results at the end of the batch."""
        super().init(context)
        self._states.open(context)
        self._hold = context.hold(self._release)

    def process_batch(self, table: pa.Table) -> None:
        """Aggregate a table."""
        for name in self._states.required:
            table = self.without_nulls(table, name)
        if not table.num_rows:
            return
        keys, groups, lifted, handles, before, places = self._states.of_rows(table)
        with naming(table, self._states.source.key, groups.order):
            state = self._form.reduce_onto(before, places, lifted, groups.runs)
        self._states.store.write(handles, state)
        if self._each:
            state = self._form.updates(lifted, groups, before, places)
            typed = keys.typed.take(pa.array(keys.codes))
            extra = {name: table.column(name) for name in ("headers", STREAM_TIME)}
            self.context.forward(pa.table({**self._columns(typed, state), **extra}))
        else:
            order = np.argsort(groups.first)
            typed = keys.typed.take(pa.array(order))
            self._hold(self._columns(typed, tuple(column[order] for column in state)))

    def _columns(self, keys: pa.Array, state: Columns) -> dict[str, pa.Array]:
        return {"key": keys, "value": self._form.result(state), "timestamp": pa.array(state[0])}

    def _release(self, parts: Sequence[dict[str, pa.Array]]) -> None:
        """Forward the last result of each key, in the order of the keys' first results.

        Args:
            parts: For each table of the batch, the columns of its results.
        """
        whole = pa.concat_tables([pa.table(part) for part in parts]).combine_chunks()
        if len(parts) > 1:
            keys = whole.column("key").combine_chunks()
            is_encoded = isinstance(keys.type, pa.BaseExtensionType)
            found = (keys.storage if is_encoded else keys).dictionary_encode()
            last = np.zeros(len(found.dictionary), np.int64)
            np.maximum.at(last, found.indices.to_numpy(), np.arange(whole.num_rows))
            whole = whole.take(pa.array(last))
        self.context.forward(whole)
