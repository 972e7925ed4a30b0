"""What becomes of records that fail: fail the batch, skip them, or set them aside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from kstreams.errors import EventTimeError, KStreamsError, LimitError
from kstreams.processors.on_error import DeadLetter
from kstreams.quoting import kind_of, safe_text, text_of
from kstreams.record import Record
from kstreams.task.collector import Collector
from kstreams.task.columns import headers_of
from kstreams.task.cursor import Cursor
from kstreams.task.decoding import Entry
from kstreams.task.queues import Queue
from kstreams.task.unreadable import named

__all__ = ("Policies",)

_MAX_CHARS = 1_000
"""Of the text that is added to a dead letter, a header."""


class Policies:
    """The policy of each entry, and the dead letters of the batch."""

    def __init__(self, entries: Mapping[str, Entry], cursor: Cursor) -> None:
        self._by_entry = {name: entry.on_error for name, entry in entries.items()}
        self._cursor = cursor
        self._letters = {
            policy.topic: Collector.of_dead_letters(policy)
            for policy in self._by_entry.values()
            if isinstance(policy, DeadLetter)
        }

    @property
    def all_fail(self) -> bool:
        """Whether no record is ever skipped."""
        return all(policy == "fail" for policy in self._by_entry.values())

    def apply(self, queue: Queue, row: int, error: KStreamsError) -> None:
        """Deal with a record of which nothing remains; raise the error if so asked."""
        policy = self._by_entry[queue.entry]
        if policy == "fail" or isinstance(error, LimitError):
            raise error from error.__cause__
        kind = kind_of(error)
        if isinstance(policy, DeadLetter):
            self._cursor.drop(f"dead-letter-{kind}")
            self._letters[policy.topic].take(_letter(queue, row, error, self._cursor.wall_time))
        else:
            self._cursor.drop(f"skipped-{kind}")

    def drain(self) -> dict[str, pa.Table]:
        """Return the dead letters by topic, and start anew."""
        tables = {topic: letters.drain() for topic, letters in self._letters.items()}
        return {topic: table for topic, table in tables.items() if table is not None}


def _letter(queue: Queue, row: int, error: KStreamsError, wall_ms: int) -> Record[Any, Any]:
    table = queue.table.slice(row, 1)
    key, value, timestamp, offset = (
        table.column(name)[0].as_py() for name in ("key", "value", "timestamp", "offset")
    )
    reasons = {
        "class": kind_of(error),
        "message": error.message,
        "node": error.where.node or queue.entry,
        "topic": queue.topic,
        "partition": queue.partition,
        "offset": offset,
    }
    if isinstance(error, EventTimeError):  # a broker may refuse that time, too
        reasons["timestamp"] = timestamp
        timestamp = min(max(timestamp, 0), wall_ms)
    (own,) = headers_of(table.column("headers"))
    added = (
        (f"kstreams-error-{name}", safe_text(text_of(text), _MAX_CHARS).encode())
        for name, text in reasons.items()
    )
    return Record(key, value, timestamp, (*named(own), *added))
