"""The ids of the latest messages in the topic."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from kstreams.connection import Connection
from kstreams_intake.contract import LastMessage
from kstreams_intake.marks import Mark, mark_in

__all__ = ("KnownIds", "TopicEnd", "read_end")


class KnownIds:
    """The set of the latest ids of messages.

    Args:
        most: The maximum number of ids.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._ids: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, found: str) -> bool:
        return found in self._ids

    def add(self, new: str) -> None:
        """Add an id; remove the oldest id if there are too many."""
        self._ids[new] = None
        self._ids.move_to_end(new)
        while len(self._ids) > self._most:
            self._ids.popitem(last=False)


@dataclass(frozen=True)
class TopicEnd:
    """The state of an intake at the end of its topic.

    Attributes:
        known: The ids of the intake's last messages.
        last: The position to resume at; None without messages.
        batch: The number of the intake's last batch; -1 without a batch.
    """

    known: KnownIds
    last: LastMessage | None
    batch: int


def read_end(
    connection: Connection, topic: str, intake: str, remember: int, now_ms: int
) -> TopicEnd:
    """Return the state of an intake from the last records of each partition of a topic.

    Args:
        connection: The connection of the topic.
        topic: The name of an existing topic.
        intake: The name of the intake.
        remember: The number of records to read from each partition.
        now_ms: The time, ms since the epoch.
    """
    admin, reader = connection.admin(), connection.reader()
    try:
        beginnings, ends = admin.beginning_offsets(topic), admin.end_offsets(topic)
        marks: list[Mark] = []
        timestamp = 0
        for partition, end in sorted(ends.items()):
            start = max(beginnings[partition], end - remember)
            for record in reader.read(topic, partition, start, end):
                mark = mark_in(record.headers)
                if mark is not None and mark.intake == intake:
                    marks.append(mark)
                    timestamp = max(timestamp, record.timestamp)
    finally:
        reader.close()
        admin.close()
    known = KnownIds(max(1, remember * len(ends)))
    marks.sort(key=lambda mark: (mark.place.batch, mark.place.row))  # the latest: forgotten last
    for mark in marks:
        if mark.id is not None:
            known.add(mark.id)
    if not marks:
        return TopicEnd(known, None, -1)
    batch = marks[-1].place.batch
    age = timedelta(milliseconds=max(0, now_ms - timestamp))
    return TopicEnd(known, LastMessage(_last_of(marks), age), batch)


def _last_of(marks: Sequence[Mark]) -> str | None:
    """Return the id after which a source resumes: all messages up to it are in the topic."""
    newest = marks[-1].place
    rows = [mark for mark in marks if mark.place.batch == newest.batch]
    ids = [mark.id for mark in rows if mark.id is not None]
    if ids and len({mark.place.row for mark in rows}) == newest.count:
        return ids[-1]
    return newest.before
