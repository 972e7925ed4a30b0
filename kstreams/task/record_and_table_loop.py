"""The two ways to process a batch: record by record, and as whole tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams._types import Ints
from kstreams.graph.nodes import Entry, SourceNode
from kstreams.ids import TopicPartition
from kstreams.processors.columns import PLACE, STREAM_TIME
from kstreams.record import Record
from kstreams.task.buffer import BatchBuffer
from kstreams.task.forwarding import settled, to_each
from kstreams.task.input.read_ahead import ReadAhead
from kstreams.task.progress.cursor import Cursor
from kstreams.task.records.columns import concat
from kstreams.task.records.decoding import BadRow, Form, decoded, formed
from kstreams.task.records.queues import Queue, merged_order
from kstreams.task.records.rows import MergedRows, RecordCall, Stream
from kstreams.task.rollback import Undo
from kstreams.task.task_limits import TaskLimits
from kstreams.task.wiring import Taker, Wiring

__all__ = ("BatchWork", "RecordPass", "TablePass")

_Pairs = Iterator[tuple[RecordCall, Record[Any, Any]]]
"""Pairs of a receiver and the record for it."""


@dataclass(frozen=True)
class BatchWork:
    """The objects and functions of a task that both `RecordPass` and `TablePass` use.

    Attributes:
        followers: Names of sources, edges and loops whose records do not advance stream time.
        next_due: The time of the next stream-time punctuator, ms.
        punctuate: Flushes buffers and fires due punctuators.
        failed: Applies the policy to a failed and rolled-back record: queue, row, the decoded key
            if known, and the error. Raises to fail the batch.
    """

    entries: Mapping[str, Entry]
    followers: frozenset[str]
    wiring: Wiring
    cursor: Cursor
    undo: Undo
    read_ahead: ReadAhead
    limits: TaskLimits
    next_due: Callable[[], int]
    punctuate: Callable[[], None]
    failed: Callable[[Queue, int, object, BaseException], None]

    def reject(self, bad: BadRow) -> None:
        """Apply the policy to a row that cannot be decoded."""
        self.failed(bad.queue, bad.row, None, bad.error)


class RecordPass:
    """Processes a batch with one call per record, in merged order; fires due punctuators."""

    def __init__(self, work: BatchWork) -> None:
        self._work = work

    def run(self, queues: Sequence[Queue], last: dict[TopicPartition, int]) -> None:
        """Process queues to their ends, or until no further record has an effect.

        Args:
            queues: The queues.
            last: Gets the offset of the last record that was processed, by source partition.
        """
        work, limited = self._work, bool(self._work.limits.counts)
        streams = [
            Stream(work.entries[q.entry], q, moves_time=q.entry not in work.followers)
            for q in queues
        ]
        for stream in streams:
            if stream.bad and not stream.guarded and not limited:
                work.reject(stream.bad[-1])
        rows = MergedRows(streams, self._calls(streams))
        pairs = work.read_ahead.over(iter(rows), streams)
        if limited:
            pairs = work.limits.until_stop(pairs)
        if any(stream.guarded or (limited and stream.bad) for stream in streams):
            self._guarded(rows, pairs, streams)
        else:
            self._straight(rows, pairs)
        for stream, taken in zip(streams, rows.taken(), strict=True):
            queue, count = stream.queue, len(stream.keys)
            if isinstance(stream.entry, SourceNode):
                count = taken
                if taken:
                    last[queue.topic_partition] = queue.table.column("offset")[taken - 1].as_py()
            work.cursor.place += count
            work.wiring.flows.passed[stream.entry.name] += count - stream.failed

    def _straight(self, rows: MergedRows, pairs: _Pairs) -> None:
        """Process records without rollback, because every failure fails the batch."""
        cursor, alike = self._work.cursor, rows.alike
        while True:
            cursor.rows = rows
            stream_time, due = cursor.stream_time, self._work.next_due()
            try:
                for call, record in pairs:
                    if record.timestamp > stream_time and (alike or rows.moves_time()):
                        cursor.stream_time = stream_time = record.timestamp
                    call(record)
                    if stream_time >= due:
                        break
                else:
                    return
            except KeyboardInterrupt:
                raise
            except BaseException as exc:  # user code, which may also exit
                self._failed(rows, exc)
                raise  # not reached: each failure fails the batch
            self._work.punctuate()

    def _guarded(self, rows: MergedRows, pairs: _Pairs, streams: Sequence[Stream]) -> None:
        """Process records one by one; roll back the effects of each record that fails."""
        work = self._work
        cursor, undo = work.cursor, work.undo
        any_bad = any(stream.bad for stream in streams)
        for call, record in pairs:
            cursor.rows = rows
            if any_bad:
                self._reject_before(*rows.present())
            if record.timestamp > cursor.stream_time and (rows.alike or rows.moves_time()):
                cursor.stream_time = record.timestamp
            undo.mark()
            try:
                call(record)
            except KeyboardInterrupt:
                raise
            except BaseException as exc:  # noqa: BLE001  # user code, which may also exit
                undo.back()
                self._failed(rows, exc)
                rows.present()[0].failed += 1
            else:
                undo.keep()
            if cursor.stream_time >= work.next_due():
                work.punctuate()
        for stream in () if work.limits.stops else streams:
            self._reject_before(stream, len(stream.keys))

    def _reject_before(self, stream: Stream, row: int) -> None:
        """Apply the policy to the undecodable rows of a stream that come before a good row."""
        while stream.bad and stream.bad[-1].before <= row:
            self._work.reject(stream.bad.pop())

    def _failed(self, rows: MergedRows, exc: BaseException) -> None:
        stream, row = rows.present()
        self._work.failed(stream.queue, row, stream.keys[row], exc)

    def _calls(self, streams: Sequence[Stream]) -> list[RecordCall]:
        """Return the function that takes each stream's records.

        Buffers that a stream feeds directly also get the tables to which their row numbers refer.
        """
        takers = [self._work.wiring.takers(stream.entry.name) for stream in streams]
        starts: dict[tuple[int, Taker], int] = {}
        buffers = self._work.wiring.buffers
        timed = any(buffer.form != "typed" for buffer in buffers)
        orders = _orders(streams, self._work.cursor) if timed else []
        for buffer in buffers:
            tables: list[pa.Table] = []
            for number, stream in enumerate(streams):
                if buffer in takers[number]:
                    starts[number, buffer] = sum(table.num_rows for table in tables)
                    table = formed(stream.entry, stream.queue, buffer.form)
                    if buffer.form != "typed":
                        times, places = orders[number]
                        table = table.append_column(STREAM_TIME, pa.array(times))
                        table = table.append_column(PLACE, pa.array(places))
                    tables.append(table)
            buffer.feed(concat(tables) if tables else None)
        wiring = self._work.wiring
        return [
            settled(
                to_each([self._call(taker, starts.get((number, taker))) for taker in own]),
                wiring.joints_behind(streams[number].entry.name),
            )
            for number, own in enumerate(takers)
        ]

    def _call(self, taker: Taker, start: int | None) -> RecordCall:
        if not isinstance(taker, BatchBuffer):
            return taker
        cursor, take_row = self._work.cursor, taker.take_row

        def call(_: Record[Any, Any]) -> None:
            rows = cursor.rows
            if rows is not None and start is not None:
                take_row(start + rows.present()[1])

        return call


def _orders(streams: Sequence[Stream], cursor: Cursor) -> list[tuple[Ints, Ints]]:
    """Return, by stream, the stream time at each row and the row's number in merged order."""
    times = [stream.times for stream in streams]
    numbers, rows = merged_order(times)
    bases = np.cumsum([0, *map(len, times)])
    places = bases[numbers] + rows
    moving = [
        stream.times if stream.moves_time else np.full_like(stream.times, cursor.stream_time)
        for stream in streams
    ]
    merged = np.maximum.accumulate(np.concatenate(moving)[places])
    merged = np.maximum(merged, cursor.stream_time)
    stream_times, order = np.empty_like(merged), np.empty_like(merged)
    stream_times[places] = merged
    order[places] = np.arange(cursor.place, cursor.place + len(places))
    ends = bases[1:-1]
    return list(zip(np.split(stream_times, ends), np.split(order, ends), strict=True))


@dataclass(frozen=True)
class _Feed:
    """The rows of a batch for one batch processor, and their numbers in the merged batch."""

    buffer: BatchBuffer
    table: pa.Table
    places: Ints

    def timed(self, stream_times: Ints, place: int) -> _Feed:
        """Return a copy with two more columns: each row's stream time and position.

        Args:
            stream_times: The stream time at each record of the merged batch.
            place: The number of records that the task has processed before these rows.
        """
        times = pa.array(stream_times[self.places])
        table = self.table.append_column(STREAM_TIME, times)
        return replace(self, table=table.append_column(PLACE, pa.array(self.places + place)))


class TablePass:
    """Processes a batch as tables, divided after each record that makes a punctuator due."""

    def __init__(self, work: BatchWork) -> None:
        self._work = work

    def run(self, queues: Sequence[Queue], last: dict[TopicPartition, int]) -> None:
        """Process queues to their ends; see `RecordPass.run`."""
        work = self._work
        for queue in queues:
            last[queue.topic_partition] = queue.table.column("offset")[-1].as_py()
        good = [self._formed(queue) for queue in queues]
        times = [queue.table.column("timestamp").to_numpy() for queue, _ in good]
        numbers, rows = merged_order(times)
        if not len(numbers):
            return
        bases = np.cumsum([0, *map(len, times[:-1])])
        present = work.cursor.stream_time
        moving = [
            np.full_like(own, present) if queue.entry in work.followers else own
            for (queue, _), own in zip(good, times, strict=True)
        ]
        merged = np.concatenate(moving)[bases[numbers] + rows]
        stream_times = np.maximum(np.maximum.accumulate(merged), present)
        feeds = self._feeds(good, numbers, rows, stream_times)
        begin = 0
        while begin < len(stream_times):
            end = self._cut(stream_times, begin)
            for feed in feeds:
                low, high = np.searchsorted(feed.places, (begin, end))
                if high > low:
                    feed.buffer.take_table(feed.table.slice(low, high - low))
            work.cursor.stream_time = int(stream_times[end - 1])
            if work.cursor.stream_time >= work.next_due():
                work.punctuate()
            begin = end
        work.cursor.place += len(stream_times)
        for queue, _ in good:
            work.wiring.flows.passed[queue.entry] += queue.table.num_rows

    def _cut(self, stream_times: Ints, begin: int) -> int:
        """Return the index after the first record, from `begin` on, that makes a punctuator due."""
        first = int(np.searchsorted(stream_times[begin:], self._work.next_due()))
        return min(begin + first + 1, len(stream_times))

    def _feeds(
        self,
        good: Sequence[tuple[Queue, dict[Form, pa.Table]]],
        numbers: npt.NDArray[np.int32],
        rows: Ints,
        stream_times: Ints,
    ) -> list[_Feed]:
        takers = [self._work.wiring.takers(queue.entry) for queue, _ in good]
        feeds = []
        for buffer in self._work.wiring.buffers:
            own = [number for number, found in enumerate(takers) if buffer in found]
            if own:
                tables = {number: good[number][1][buffer.form] for number in own}
                feed = _feed(buffer, tables, len(good), numbers, rows)
                place = self._work.cursor.place
                feeds.append(feed if buffer.form == "typed" else feed.timed(stream_times, place))
        return feeds

    def _formed(self, queue: Queue) -> tuple[Queue, dict[Form, pa.Table]]:
        """Return a queue without undecodable rows, and its table, decoded for each `Form` in use.

        The policy of the source is applied to the undecodable rows.
        """
        entry = self._work.entries[queue.entry]
        takers = self._work.wiring.takers(queue.entry)
        forms: set[Form] = {taker.form for taker in takers if isinstance(taker, BatchBuffer)}
        try:
            return queue, {form: formed(entry, queue, form) for form in forms}
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001  # a serde is user code: row by row shows which row
            found = decoded(entry, queue, values=forms != {"keys"})
            for bad in found.bad:
                self._work.reject(bad)
            return found.queue, {form: formed(entry, found.queue, form) for form in forms}


def _feed(
    buffer: BatchBuffer,
    tables: Mapping[int, pa.Table],
    count: int,
    numbers: npt.NDArray[np.int32],
    rows: Ints,
) -> _Feed:
    """Merge the rows of the queues that a batch processor reads.

    Args:
        buffer: The buffer of the processor.
        tables: The tables of these queues, by queue number.
        count: The number of all queues of the batch.
        numbers: The queue number of each record of the batch, in merged order.
        rows: The row of each of these records in its queue.
    """
    if count == 1:
        return _Feed(buffer, tables[0], np.arange(len(rows)))
    own = list(tables)
    places = np.flatnonzero(np.isin(numbers, own))
    if len(own) == 1:
        return _Feed(buffer, tables[own[0]], places)
    starts = np.zeros(count, np.int64)
    starts[own] = np.cumsum([0, *(tables[number].num_rows for number in own[:-1])])
    order = starts[numbers[places]] + rows[places]
    table = concat([tables[number] for number in own])
    return _Feed(buffer, table.take(pa.array(order)), places)
