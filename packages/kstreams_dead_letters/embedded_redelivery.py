"""Write records of one embedded topic to other topics exactly once, and store their offsets."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from kstreams.connection import RawRecord
from kstreams.embedded.log import EmbeddedLog
from kstreams.errors import AppLockedError, StateCorruptError
from kstreams.files import sync_directory, write_new
from kstreams.raw_batch import headers_array

__all__ = ("EmbeddedRedelivery",)

_FORMAT = 1


class EmbeddedRedelivery:
    """Redelivers the records of one embedded topic exactly once, also across crashes.

    A file in the topic's directory records the redelivered offsets and an unfinished `send`: its
    staged files, each with the number under which it is published. The next `open` publishes these
    files, which changes nothing if they are already published.

    Args:
        log: The embedded topics.
        topic: The topic whose records are redelivered.

    Raises:
        UnknownTopicError: The topic does not exist.
    """

    def __init__(self, log: EmbeddedLog, topic: str) -> None:
        log.topic(topic)
        self._log = log
        self._owner = f"kstreams-redelivery/{topic}"
        self._file = log.root / topic / "redelivered.json"
        self._lock: int | None = None
        self._state: dict[str, Any] = {"next": 0, "done": {}, "under_way": None}

    def open(self) -> dict[int, str]:
        """Lock out other processes, finish an interrupted `send`, and return redelivered offsets.

        Returns:
            The redelivered offsets by partition, as they were passed to the last `send` as `done`.

        Raises:
            AppLockedError: Another process redelivers records of the topic.
            StateCorruptError: The file cannot be read.
        """
        lock = os.open(
            self._file.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        )
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise AppLockedError(
                f"another process redelivers the dead letters of {str(self._file.parent)!r}",
                hint="wait until that process has ended.",
            ) from None
        self._lock = lock
        self._read()
        self._finish()
        self._log.sweep_staged([self._owner], older_than_ms=0)
        return self.peek()

    def peek(self) -> dict[int, str]:
        """Return the redelivered offsets by partition, without a lock and without changes."""
        if self._lock is None:
            self._read()
        return {int(partition): str(text) for partition, text in self._state["done"].items()}

    def send(self, records: Sequence[RawRecord], done: Mapping[int, str]) -> None:
        """Write records and store the redelivered offsets, atomically.

        Args:
            records: The records to write, in order.
            done: Earlier redelivered offsets and those of `records`, as text, by partition of the
                topic. Other partitions keep their offsets.

        Raises:
            KStreamsError: A topic rejects the records; nothing was written.
        """
        place = attrgetter("topic", "partition")
        staged = []
        for (topic, partition), rows in groupby(sorted(records, key=place), place):
            name = self._log.stage(topic, partition, _table(list(rows)), owner=self._owner)
            staged.append([topic, partition, name])
        kept = {str(partition): text for partition, text in done.items()}
        self._write({**self._state, "under_way": {"staged": staged, "done": kept}})
        self._finish()

    def close(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _finish(self) -> None:
        under_way = self._state["under_way"]
        if under_way is None:
            return
        number = self._state["next"]
        for topic, partition, name in under_way["staged"]:
            self._log.publish(topic, partition, name, producer=self._owner, batch=number)
        done = {**self._state["done"], **under_way["done"]}
        self._write({"next": number + 1, "done": done, "under_way": None})

    def _read(self) -> None:
        try:
            data = self._file.read_bytes()
        except FileNotFoundError:
            return
        try:
            found = json.loads(data)
            known = found.pop("format") == _FORMAT and set(found) == set(self._state)
        except (ValueError, KeyError, AttributeError, TypeError):
            found, known = {}, False
        if not known:
            raise StateCorruptError(
                f"{str(self._file)!r}, the list of redelivered records, cannot be read",
                hint="restore the file from a copy; without the file, all records are redelivered "
                "again.",
            )
        self._state = found

    def _write(self, state: dict[str, Any]) -> None:
        fresh = Path(f"{self._file}.new")
        fresh.unlink(missing_ok=True)  # of one that was killed
        write_new(fresh, json.dumps({"format": _FORMAT, **state}).encode(), durable=True)
        fresh.replace(self._file)
        sync_directory(self._file.parent)
        self._state = state


def _table(rows: Sequence[RawRecord]) -> pa.Table:
    return pa.table(
        {
            "timestamp": pa.array([row.timestamp for row in rows], pa.int64()),
            "key": pa.array([row.key for row in rows], pa.binary()),
            "value": pa.array([row.value for row in rows], pa.binary()),
            "headers": headers_array([row.headers for row in rows]),
        }
    )
