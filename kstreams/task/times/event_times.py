"""Sets the event times of records, and handles invalid times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.clock import to_ms
from kstreams.errors import EventTimeError
from kstreams.graph.nodes import Entry, SourceNode
from kstreams.processors.event_time import EventTime, WallClock
from kstreams.quoting import repr_of
from kstreams.raw_batch import headers_of
from kstreams.record import Record
from kstreams.serde.objects import objects_of
from kstreams.task.progress.cursor import Cursor
from kstreams.task.progress.task_meta import NO_TIME, TaskMeta
from kstreams.task.records.decoding import decoded, without_nulls
from kstreams.task.records.queues import Queue
from kstreams.task.records.unreadable import readable_rows
from kstreams.times import EARLIEST_MS, LATEST_MS

__all__ = ("EventTimes",)

_HINT = "correct the timestamp extractor, or handle such records: add_source(invalid_time=...)."
_AHEAD_HINT = (
    "correct the clock of the producer (or of this machine). add_source(max_ahead=...) sets the "
    "maximum, invalid_time='skip' drops such records, and on_error=DeadLetter(topic) writes them "
    "to a dead-letter topic."
)
_OF_EDGES = EventTime()
_MOST_CHARS = 200


class EventTimes:
    """Replaces the timestamps of queues by event times, before the queues are merged by time.

    Resulting times are between `EARLIEST_MS` and `LATEST_MS`, and within the maximum lead of their
    source, so later code needs no overflow checks.

    Args:
        entries: The sources, repartition edges and loops of the task, by name.
        meta: The metadata of the task, with the highest valid event time of each partition.
        cursor: Counts dropped records, and has the wall time.
        failed: Applies the policy to a failed record: queue, row, key and error. Raises to fail the
            batch.
    """

    def __init__(
        self,
        entries: Mapping[str, Entry],
        meta: TaskMeta,
        cursor: Cursor,
        failed: Callable[[Queue, int, object, BaseException], None],
    ) -> None:
        self._entries = entries
        self._meta = meta
        self._cursor = cursor
        self._failed = failed

    def timed(self, queue: Queue) -> Queue:
        """Return a queue with event times, without the rows dropped for an invalid time."""
        if not queue.table.num_rows:
            return queue
        entry = self._entries[queue.entry]
        times = entry.event_time if isinstance(entry, SourceNode) else _OF_EDGES
        if isinstance(times.extract, WallClock):
            now = min(max(self._cursor.wall_time, 0), LATEST_MS)
            return _with_times(queue, np.full(queue.table.num_rows, now))
        if times.extract is not None:
            return self._extracted(queue, times, times.extract)
        return self._bounded(queue, times)

    def running_maxima(self, queue: Queue) -> npt.NDArray[np.int64] | None:
        """Return the highest time of a queue's partition up to each of its rows.

        Rows without a valid time do not count; the result is `NO_TIME` before the first valid one.
        The method changes nothing, but calls the extractor of the source, if it has one. Returns
        None if times do not determine the order: for rows of an edge, or with the processing time.
        """
        entry = self._entries[queue.entry]
        if not isinstance(entry, SourceNode):
            return None
        times, extract = entry.event_time, entry.event_time.extract
        if isinstance(extract, WallClock):
            return None
        stamps: npt.NDArray[np.int64] = queue.table.column("timestamp").to_numpy()
        if extract is not None:
            stamps = np.full(len(stamps), NO_TIME)
            rows, found = self._previewed(entry, queue, extract)
            stamps[rows] = found
        good = (stamps >= EARLIEST_MS) & (stamps <= times.latest(self._cursor.wall_time))
        return np.maximum.accumulate(np.where(good, stamps, NO_TIME))

    def _previewed(
        self,
        entry: SourceNode,
        queue: Queue,
        extract: Callable[[Record[Any, Any]], datetime | int | None],
    ) -> tuple[list[int], list[int]]:
        """Return the rows for which an extractor returns a valid time, and these times."""
        readable = readable_rows(queue.table)
        kept = queue if readable is None else queue.with_table(queue.table.filter(readable))
        kept = without_nulls(entry, kept, lambda _reason, _count: None)
        found = decoded(entry, kept)
        table = found.queue.table
        places = np.searchsorted(
            queue.table.column("offset").to_numpy(), table.column("offset").to_numpy()
        )
        columns = objects_of(table.column("timestamp")), headers_of(table.column("headers"))
        rows, times = list[int](), list[int]()
        records = map(Record, found.keys, found.values, *columns)
        for row, record in zip(places.tolist(), records, strict=True):
            try:
                time = extract(record)
                stamp = to_ms(time) if isinstance(time, datetime) else time
                if stamp is not None and 0 <= index(stamp) <= LATEST_MS:
                    rows.append(row)
                    times.append(index(stamp))
            except KeyboardInterrupt:
                raise
            except BaseException:  # noqa: BLE001, S112  # it fails when its turn comes
                continue
        return rows, times

    def _bounded(self, queue: Queue, times: EventTime) -> Queue:
        """Return a queue whose event times are the timestamps of the topic.

        `times.invalid` configures whether invalid timestamps are replaced or their records omitted.
        """
        column = queue.table.column("timestamp")
        low, high = (pc.min_max(column)[name].as_py() for name in ("min", "max"))
        latest = times.latest(self._cursor.wall_time)
        if low < EARLIEST_MS or high > latest:
            return self._judged(queue, times, latest)
        if times.invalid == "partition-time":
            self._note(queue, high)
        return queue

    def _judged(self, queue: Queue, times: EventTime, latest: int) -> Queue:
        stamps = np.array(queue.table.column("timestamp").to_numpy())
        bad = (stamps < EARLIEST_MS) | (stamps > latest)
        before = self._meta.partition_times.get(queue.topic_partition, NO_TIME)
        highest = np.maximum.accumulate(np.where(bad, before, np.maximum(stamps, before)))
        kept = np.ones(len(stamps), bool)
        for row in np.flatnonzero(bad).tolist():
            try:
                known = int(highest[row])
                time = self._instead(queue, times, int(stamps[row]), latest, known)
            except EventTimeError as exc:
                self._failed(queue, row, None, exc)
                time = None
            kept[row] = time is not None
            stamps[row] = NO_TIME if time is None else time
        if times.invalid == "partition-time":
            self._note(queue, int(highest[-1]))
        return _picked(_with_times(queue, stamps), kept)

    def _extracted(
        self,
        queue: Queue,
        times: EventTime,
        extract: Callable[[Record[Any, Any]], datetime | int | None],
    ) -> Queue:
        found = decoded(self._entries[queue.entry], queue)
        bad = {row.row for row in found.bad}  # they are handled later, in record order
        rows = (row for row in range(queue.table.num_rows) if row not in bad)
        latest = times.latest(self._cursor.wall_time)
        stamps = np.array(objects_of(queue.table.column("timestamp")), np.int64)
        stamps = np.clip(stamps, EARLIEST_MS, LATEST_MS)
        kept = np.ones(len(stamps), bool)
        own = [objects_of(found.queue.table.column("timestamp"))]
        own.append(headers_of(found.queue.table.column("headers")))
        records = map(Record, found.keys, found.values, *own)
        for row, record in zip(rows, records, strict=True):
            try:
                time = self._time(times, queue, extract(record), latest)
                stamps[row] = stamps[row] if time is None else time
            except KeyboardInterrupt:
                raise
            except BaseException as exc:  # noqa: BLE001  # user code, which may also exit
                self._failed(queue, row, record.key, exc)
                time = None
            kept[row] = time is not None
        return _picked(_with_times(queue, stamps), kept)

    def _time(
        self, times: EventTime, queue: Queue, found: datetime | int | None, latest: int
    ) -> int | None:
        """Return the event time of a record, in ms, or a replacement; None to drop the record."""
        time = to_ms(found) if isinstance(found, datetime) else found
        if time is not None and 0 <= index(time) <= latest:
            if times.invalid == "partition-time":
                self._note(queue, time)
            return time
        known = self._meta.partition_times.get(queue.topic_partition, NO_TIME)
        return self._instead(queue, times, time, latest, known)

    def _instead(
        self, queue: Queue, times: EventTime, time: int | None, latest: int, known: int
    ) -> int | None:
        """Return the replacement of an invalid time of a record; None to drop the record.

        Args:
            queue: The queue of the record.
            times: The event time settings of its source.
            time: The invalid time, or None if the record has no time.
            latest: The maximum valid time.
            known: The highest valid time of its partition; `NO_TIME` before any.
        """
        ahead = time is not None and time > latest
        if times.invalid == "skip":
            self._cursor.drop(queue.entry, "too-far-ahead" if ahead else "no-event-time")
            return None
        if times.invalid == "partition-time" and known != NO_TIME:
            return known
        if time is None or not ahead:
            found = repr_of(time, _MOST_CHARS)
            raise EventTimeError(
                f"the record has no event time: expected 0 or more ms since the epoch, got {found}",
                hint=_HINT,
            )
        raise self._too_far_ahead(time, latest)

    def _too_far_ahead(self, time: int, latest: int) -> EventTimeError:
        if latest == LATEST_MS:
            reason = f"is after the maximum, {LATEST_MS} (the year 9999)"
        else:
            wall = self._cursor.wall_time
            span = timedelta(milliseconds=latest - wall)
            ahead = repr_of(time - wall, _MOST_CHARS)
            reason = f"is {ahead} ms ahead of the wall clock ({wall}); max_ahead is {span}"
        found = repr_of(time, _MOST_CHARS)
        return EventTimeError(f"the record's event time {found} {reason}", hint=_AHEAD_HINT)

    def _note(self, queue: Queue, time: int) -> None:
        """Record a valid time, if it is the highest of the queue's partition so far."""
        if time >= 0:
            highest = self._meta.partition_times
            place = queue.topic_partition
            highest[place] = max(time, highest.get(place, time))


def _picked(queue: Queue, kept: npt.NDArray[np.bool_]) -> Queue:
    return queue if kept.all() else queue.with_table(queue.table.filter(pa.array(kept)))


def _with_times(queue: Queue, stamps: npt.NDArray[np.int64]) -> Queue:
    place = queue.table.schema.get_field_index("timestamp")
    return queue.with_table(queue.table.set_column(place, "timestamp", pa.array(stamps)))
