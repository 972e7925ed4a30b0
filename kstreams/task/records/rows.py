"""The records of a batch in the order in which a task processes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import repeat
from operator import length_hint
from typing import Any

import numpy as np
import numpy.typing as npt

from kstreams.graph.nodes import Entry, serdes_of
from kstreams.raw_batch import HOPS, headers_of
from kstreams.record import Headers, Record, RecordMetadata
from kstreams.serde.carried import stays_bytes
from kstreams.serde.objects import objects_of
from kstreams.task.records.decoding import decoded
from kstreams.task.records.lazy_record import LazyRecord
from kstreams.task.records.queues import Queue, merged_order

__all__ = ("MergedRows", "RecordCall", "Stream")

RecordCall = Callable[[Record[Any, Any]], None]
"""A receiver of records: a `process`, or its replacement."""


class Stream:
    """One decoded queue.

    Attributes:
        queue: The good rows.
        bad: The undecodable rows that were not handled yet, the next one last.
        moves_time: Whether the records advance stream time.
        failed: The number of records that failed in processing.
    """

    def __init__(self, entry: Entry, queue: Queue, *, moves_time: bool = True) -> None:
        value = serdes_of(entry)[1]
        self.entry = entry
        self.moves_time = moves_time
        self.failed = 0
        self.guarded = entry.on_error != "fail"
        self._lazy = not (self.guarded or value.immutable) and stays_bytes(value)
        found = decoded(entry, queue, values=not self._lazy)
        self.queue = found.queue
        self.keys = found.keys
        self.bad = list(reversed(found.bad))
        self._values = found.values
        self._decode = value.deserialize
        self.times: npt.NDArray[np.int64] = self.queue.table.column("timestamp").to_numpy()
        self._times: list[int] = self.times.tolist()

    @cached_property
    def headers(self) -> Sequence[Headers] | None:
        """Headers by row; None when there are none at all."""
        column = self.queue.table.column("headers")
        return headers_of(column) if column.null_count < len(column) else None

    @cached_property
    def _offsets(self) -> list[int]:
        return objects_of(self.queue.table.column("offset"))

    @cached_property
    def hops(self) -> list[int] | None:
        """The loop passes of each row; None if all are zero."""
        table = self.queue.table
        return objects_of(table.column(HOPS)) if HOPS in table.column_names else None

    def records(self) -> Iterator[Record[Any, Any]]:
        """Return an iterator of the records, in the order of their rows."""
        if self._lazy:
            headers = self.headers or repeat(())
            decode = repeat(self._decode)
            return map(LazyRecord, self.keys, self._values, self._times, headers, decode)
        if self.headers is None:
            return map(Record, self.keys, self._values, self._times)
        return map(Record, self.keys, self._values, self._times, self.headers)

    def metadata(self, row: int) -> RecordMetadata:
        """Return topic, partition, offset, timestamp and headers of a row."""
        headers = self.headers[row] if self.headers is not None else ()
        queue = self.queue
        return RecordMetadata(
            queue.topic, queue.partition, self._offsets[row], self._times[row], headers
        )


class MergedRows:
    """All streams of a batch, merged.

    The position is derived from the running iterator (`length_hint`), so a record needs no
    bookkeeping.

    Attributes:
        alike: Whether all records advance stream time.
    """

    def __init__(self, streams: Sequence[Stream], calls: Sequence[RecordCall]) -> None:
        self._streams = streams
        self.alike = all(stream.moves_time for stream in streams)
        self._numbers: list[int] | None = None
        self._rows: list[int] = []
        order: list[RecordCall]
        if len(streams) == 1:
            order = [calls[0]] * len(streams[0].keys)
        else:
            numbers, rows = merged_order([stream.times for stream in streams])
            listed: list[int] = numbers.tolist()
            self._numbers, self._rows = listed, rows.tolist()
            order = [calls[number] for number in listed]
        self._count = len(order)
        self._calls = iter(order)

    def __iter__(self) -> Iterator[tuple[RecordCall, Record[Any, Any]]]:
        """Yield pairs of a receiver and its record; can be iterated once."""
        if self._numbers is None:
            return zip(self._calls, self._streams[0].records(), strict=False)
        sources = [stream.records() for stream in self._streams]
        merged = map(next, [sources[number] for number in self._numbers])
        return zip(self._calls, merged, strict=False)

    def present(self) -> tuple[Stream, int]:
        """Return the stream and row of the record that was yielded last."""
        place = self._count - length_hint(self._calls) - 1
        if self._numbers is None:
            return self._streams[0], place
        return self._streams[self._numbers[place]], self._rows[place]

    def taken(self) -> list[int]:
        """Return the number of yielded records of each stream."""
        done = self._count - length_hint(self._calls)
        if self._numbers is None:
            return [done]
        counts: list[int] = np.bincount(self._numbers[:done], minlength=len(self._streams)).tolist()
        return counts

    def moves_time(self) -> bool:
        """Return whether the last yielded record advances stream time."""
        return self.present()[0].moves_time

    def hops(self) -> int:
        """Return the number of loop passes of the record that was yielded last."""
        stream, row = self.present()
        return 0 if stream.hops is None else stream.hops[row]
