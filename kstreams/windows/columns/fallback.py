"""Record-by-record aggregation of some records of a batch, within columnar aggregation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams._types import Bools, Ints
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.processors.columns import ColumnSource
from kstreams.record import Record
from kstreams.serde.layout import fixed_layout
from kstreams.windows.columns.batch import Batch
from kstreams.windows.columns.results import Results
from kstreams.windows.plan import AggregationPlan
from kstreams.windows.records.emission.at_once import UpdateEmitter
from kstreams.windows.records.emission.emitter import Emitter
from kstreams.windows.records.lateness import LateCall
from kstreams.windows.rules import closed_end

__all__ = ("RecordFallback", "late_keys", "out_of_order_keys")

_LAST = (1 << 63) - 1


def late_keys(batch: Batch, grace_ms: int) -> Bools:
    """Return the mask of keys that have a record later than the grace allows.

    The window of such a record may have closed, so results depend on the order of arrival.
    """
    found = np.zeros(len(batch.keys), bool)
    found[batch.keys.codes[batch.lateness_times - batch.times > grace_ms]] = True
    return found


def out_of_order_keys(batch: Batch, stored_rows: Ints, stored_times: Ints) -> Bools:
    """Return the mask of keys that have a record with an earlier time than a previous record.

    Args:
        batch: The records.
        stored_rows: The key number of each stored row.
        stored_times: The last time of each stored row, ms.
    """
    codes, times = batch.keys.codes, batch.times
    found = np.zeros(len(batch.keys), bool)
    order = np.argsort(codes, kind="stable")
    same = codes[order][1:] == codes[order][:-1]
    back = same & (times[order][1:] < times[order][:-1])
    found[codes[order][1:][back]] = True
    first = np.full(len(batch.keys), _LAST)
    np.minimum.at(first, codes, times)
    found[stored_rows[stored_times > first[stored_rows]]] = True
    return found


class RecordFallback:
    """Aggregates records of a batch one by one, and returns the results as columns.

    Args:
        plan: The aggregation.
        source: The source of the records.
        form: Converts states to results.
        bind: Takes an emitter of states and a receiver of late records; returns a function that
            takes a record and the last closed end (ms), and aggregates the record.
    """

    def __init__(
        self,
        plan: AggregationPlan,
        source: ColumnSource,
        form: ColumnForm,
        bind: Callable[[Emitter, LateCall], Callable[[Record[Any, Any], int], object]],
    ) -> None:
        self._source = source
        self._form = form
        self._state = plan.aggregator.state
        layout = fixed_layout(self._state)
        if layout is None:
            raise TypeError(
                f"expected values of fixed width, but values of {self._state.name} vary in width"
            )
        self._layout = layout
        self._results: list[tuple[int, Record[Any, Any]]] = []
        self._late: list[int] = []
        self._row = 0
        self._close_delay: int = plan.windows.close_delay_ms
        self._call = bind(UpdateEmitter(_itself, self._forward), self._refuse)

    def aggregate(self, batch: Batch, rows: Ints) -> tuple[Ints, Ints, Results]:
        """Aggregate records in order.

        Args:
            batch: All records of the batch.
            rows: The numbers of the records to aggregate.

        Returns:
            The row numbers of late records; the row number of each result's record; and the
            results, null for a deleted window.
        """
        self._results, self._late = [], []
        table = batch.table.take(pa.array(rows))
        keys = self._source.key.deserialize_many(table.column("key").combine_chunks())
        ends = closed_end(batch.lateness_times[rows], self._close_delay).tolist()
        columns = (rows.tolist(), keys, self._values(table), batch.times[rows].tolist(), ends)
        for self._row, key, value, time, closed in zip(*columns, strict=True):
            self._call(Record(key, value, time), closed)
        places = np.array([row for row, _ in self._results], np.int64)
        return np.array(self._late, np.int64), places, self._as_columns()

    def _values(self, table: pa.Table) -> list[Any]:
        return self._source.objects(table.column("value"))

    def _forward(self, record: Record[Any, Any]) -> None:
        self._results.append((self._row, record))

    def _refuse(self, record: Record[Any, Any], start: int, end: int) -> None:
        self._late.append(self._row)

    def _as_columns(self) -> Results:
        records = [record for _, record in self._results]
        states = [record.value for record in records]
        encode = self._state.serialize
        state = self._layout.decode([encode(item) for item in states if item is not None])
        count = iter(range(len(states)))
        places = pa.array([None if item is None else next(count) for item in states], pa.int64())
        serde = self._source.key
        return Results(
            serde.to_arrow(serde.serialize_many([record.key.key for record in records])),
            np.array([record.key.start_ms for record in records], np.int64),
            np.array([record.key.end_ms for record in records], np.int64),
            self._form.result(state).take(places),
            np.array([record.timestamp for record in records], np.int64),
        )


def _itself(state: Any) -> Any:  # noqa: ANN401  # erased types
    return state
