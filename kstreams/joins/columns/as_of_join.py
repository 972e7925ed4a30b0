"""The columnar join of a stream with a versioned table; records wait for late table rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams._types import Bools
from kstreams.joins.columns.look_ups import LookUps, listed
from kstreams.joins.joiner import Joiner
from kstreams.joins.table_rows import RowMaker
from kstreams.processors.columns import LAST_PLACE, PLACE, STREAM_TIME, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.raw_batch import headers_array, headers_of
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.objects import objects_of
from kstreams.state.stores.queue.rows import QueueRows
from kstreams.state.stores.spec import StoreSpec

__all__ = ("AsOfColumns",)

_COLUMNS = ["key", "timestamp", "headers"]
_AT_ONCE = -1
"""The sort time of a record that does not wait, and so releases no other record."""


class AsOfColumns(LookUps):
    """The columnar form of `AsOfJoin`.

    A record is joined with the table as of a batch position: a waiting record as of the position of
    the record that ends its wait, any other record as of its own position. Records that still wait
    when their batch ends are stored.

    Args:
        store: The store of the table.
        joiner: An inner or a left joiner.
        source: The source of the stream's records; None if the parent is a column processor.
        maker: Derives the table's rows from the store's rows; None if the table is not derived.
        grace_ms: The waiting time of records, ms.
        waiting: The `queue_store` of the waiting records.
    """

    def __init__(
        self,
        store: StoreSpec[Any],
        joiner: Joiner[Any, Any, Any, Any],
        source: ColumnSource | None,
        maker: RowMaker | None = None,
        *,
        grace_ms: int,
        waiting: StoreSpec[Any],
    ) -> None:
        super().__init__(store, joiner, source, maker)
        self._grace = grace_ms
        self._waiting = waiting

    def init(self, context: BatchContext) -> None:
        """Open the queue of waiting records."""
        super().init(context)
        self._queue: QueueRows[Any, Any] = QueueRows.of(context.store(self._waiting))
        context.on_end_of_run(self._release_all)

    def process_batch(self, table: pa.Table) -> None:
        """Buffer records of the stream, and join the records that wait no longer."""
        table = self.opened(table)
        if not table.num_rows:
            return
        values, times = listed(self.values(table)), table.column("timestamp").to_numpy()
        progress, grace = self._queue.progress(), self._grace
        has_key = np.asarray(table.column("key").combine_chunks().is_valid())
        clock = np.where(has_key & (times > progress.released), times, progress.newest)
        newest = np.maximum.accumulate(np.append(progress.newest, clock))
        waits = has_key & (times > np.maximum(progress.released, newest[:-1] - grace))
        until = int(newest[-1]) - grace if waits.any() else progress.released
        goes = np.flatnonzero(~waits | (times <= until))
        stored = self._taken(until)
        self._put(table, values, waits, until)
        # By which row each goes: the first that is a grace newer, or its own.
        by = np.where(waits, np.searchsorted(newest[1:], times + grace), np.arange(len(times)))
        old = np.array([record.timestamp for record in stored], np.int64)
        by = np.concatenate((np.searchsorted(newest[1:], old + grace), by[goes]))
        order = np.lexsort((np.concatenate((old, np.where(waits, times, _AT_ONCE)[goes])), by))
        if not len(order):
            return
        rows = table.take(pa.array(goes)).select(_COLUMNS)
        if stored:
            rows = pa.concat_tables([_rows_of(stored, self._spec.key), rows])
        rows = rows.take(pa.array(order))
        moments = table.select([PLACE, STREAM_TIME]).take(pa.array(by[order]))
        lefts = [*(record.value for record in stored), *(values[row] for row in goes.tolist())]
        self._join_at(rows, [lefts[row] for row in order.tolist()], moments)

    def advance(self, stream_time_ms: int) -> None:
        """Join waiting records when stream time advances without new records."""
        if 0 <= stream_time_ms <= self.context.idle_time:  # both are -1 before the first
            self._release(stream_time_ms - self._grace)
        super().advance(stream_time_ms)

    def _release_all(self) -> None:
        """Join all waiting records."""
        last = self._queue.last_time()
        if last is not None:
            self._release(last)
        self.held.clear()

    def _release(self, until: int) -> None:
        """Join the waiting records with a timestamp up to `until` (ms), in order."""
        stored = self._taken(until)
        if stored:
            lefts = [record.value for record in stored]
            moments = pa.table({PLACE: np.full(len(stored), LAST_PLACE)})
            self._join_at(_rows_of(stored, self._spec.key), lefts, moments)

    def _join_at(self, rows: pa.Table, lefts: list[Any], moments: pa.Table) -> None:
        """Join records with the table, each as of a batch position.

        Args:
            rows: The keys, timestamps and headers of the records.
            lefts: The values of the records.
            moments: For each record, the position in the batch at which it is joined, and the
                stream time at this position, unless it is the end of the batch.
        """
        for name in moments.column_names:
            rows = rows.append_column(name, moments.column(name))
        rows = rows.append_column("value", pa.nulls(rows.num_rows))
        self.join(rows, lefts, self.found(rows, rows.column(PLACE).to_numpy()))

    def _taken(self, until: int) -> list[Record[Any, Any]]:
        """Remove the stored records up to a time (ms) from the queue, and return them in order."""
        if until <= self._queue.progress().released:
            return []
        taken = list(self._queue.scan(to_ms=until))
        if taken:
            self._queue.drop_before(until + 1)
        self._queue.release(until)
        return taken

    def _put(self, table: pa.Table, values: list[Any], waits: Bools, until: int) -> None:
        """Store the records that still wait when the batch ends.

        Args:
            table: The records of the batch.
            values: The values of the records.
            waits: The mask of records that had to wait when they arrived.
            until: The time (ms) up to which records no longer wait.
        """
        times = table.column("timestamp").to_numpy()
        numbers = np.cumsum(waits) - 1
        stay = np.flatnonzero(waits & (times > until))
        rows = table.take(pa.array(stay))
        records = map(
            Record,
            objects_of(rows.column("key")),
            [values[row] for row in stay.tolist()],
            times[stay].tolist(),
            headers_of(rows.column("headers")),
        )
        if waits.any():
            newest = int(times[waits].max())
            self._queue.put_many(
                zip(numbers[stay].tolist(), records, strict=True), int(waits.sum()), newest
            )


def _rows_of(records: Sequence[Record[Any, Any]], key: Serde[Any]) -> pa.Table:
    """Return the keys, timestamps and headers of records as a table."""
    columns = {
        "key": key.to_arrow(key.serialize_many([record.key for record in records])),
        "timestamp": pa.array([record.timestamp for record in records], pa.int64()),
        "headers": headers_array([record.headers for record in records]),
    }
    return pa.table(columns)
