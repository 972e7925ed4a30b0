"""Give records the times that their sources say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from operator import index
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams.clock import to_ms
from kstreams.errors import ProcessingError
from kstreams.graph.nodes import SourceNode
from kstreams.processors.event_time import EventTime, WallClock
from kstreams.quoting import repr_of
from kstreams.record import Record
from kstreams.serde.objects import objects_of
from kstreams.task.columns import headers_of
from kstreams.task.cursor import Cursor
from kstreams.task.decoding import Entry, decoded
from kstreams.task.meta import TaskMeta
from kstreams.task.queues import Queue

__all__ = ("EventTimes",)

_HINT = "mend the extractor, or say what becomes of such records: add_source(invalid_time=...)"


class EventTimes:
    """Puts event times in the place of timestamps, before queues are merged by them.

    Args:
        entries: The task's entries by name.
        meta: Keeps the highest times of partitions.
        cursor: Counts what is dropped, and knows the wall time.
        failed: Deals with a record that failed: queue, row, key, and why. Raises to fail
            the batch.
    """

    def __init__(
        self,
        entries: Mapping[str, Entry],
        meta: TaskMeta,
        cursor: Cursor,
        failed: Callable[[Queue, int, object, BaseException], None],
    ) -> None:
        self._of = {
            name: entry.event_time
            for name, entry in entries.items()
            if isinstance(entry, SourceNode) and entry.event_time is not None
        }
        self._entries = entries
        self._meta = meta
        self._cursor = cursor
        self._failed = failed

    def timed(self, queue: Queue) -> Queue:
        """Return a queue with its source's times, without the rows that have none."""
        times = self._of.get(queue.entry)
        if times is None or not queue.table.num_rows:
            return queue
        if isinstance(times.extract, WallClock):
            return _with_times(queue, np.full(queue.table.num_rows, self._cursor.wall_time))
        return self._extracted(queue, times, times.extract)

    def _extracted(
        self,
        queue: Queue,
        times: EventTime,
        extract: Callable[[Record[Any, Any]], datetime | int | None],
    ) -> Queue:
        found = decoded(self._entries[queue.entry], queue)
        bad = {row.row for row in found.bad}  # they are dealt with later, in their turn
        rows = (row for row in range(queue.table.num_rows) if row not in bad)
        stamps = np.array(objects_of(queue.table.column("timestamp")), np.int64)
        kept = np.ones(len(stamps), bool)
        own = [objects_of(found.queue.table.column("timestamp"))]
        own.append(headers_of(found.queue.table.column("headers")))
        records = map(Record, found.keys, found.values, *own)
        for row, record in zip(rows, records, strict=True):
            try:
                time = self._time(times, queue, extract(record))
                stamps[row] = stamps[row] if time is None else time
            except KeyboardInterrupt:
                raise
            except BaseException as exc:  # noqa: BLE001  # user code, which may also exit
                self._failed(queue, row, record.key, exc)
                time = None
            kept[row] = time is not None
        timed = _with_times(queue, stamps)
        return timed if kept.all() else timed.with_table(timed.table.filter(pa.array(kept)))

    def _time(self, times: EventTime, queue: Queue, found: datetime | int | None) -> int | None:
        """Return the time of a record, or None to drop it."""
        time = to_ms(found) if isinstance(found, datetime) else found
        highest = self._meta.partition_times
        if time is not None and index(time) >= 0:
            if times.invalid == "partition-time":
                highest[queue.position] = max(time, highest.get(queue.position, time))
            return time
        if times.invalid == "skip":
            self._cursor.drop("no-event-time")
            return None
        if times.invalid == "partition-time" and queue.position in highest:
            return highest[queue.position]
        raise ProcessingError(
            f"the record has no event time: extracted {repr_of(found, 200)}", hint=_HINT
        )


def _with_times(queue: Queue, stamps: np.ndarray[Any, np.dtype[np.int64]]) -> Queue:
    place = queue.table.schema.get_field_index("timestamp")
    return queue.with_table(queue.table.set_column(place, "timestamp", pa.array(stamps)))
