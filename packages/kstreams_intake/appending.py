"""Write messages to topics, with an outcome for each message."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

from kstreams.connection import Appended, Connection
from kstreams.emitter import partition_count
from kstreams.errors import (
    KStreamsError,
    RecordRefusedError,
    RowsRefusedError,
    SerdeError,
    SerializationError,
    Where,
)
from kstreams.partitioner import target
from kstreams.quoting import kind_of, repr_of
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.framed import plain_of, prepare
from kstreams.serde.none import NONE
from kstreams.topic import Topic

__all__ = ("Appender", "is_of_message")

_Bytes = Record["bytes | None", "bytes | None"]


def is_of_message(error: KStreamsError) -> bool:
    """Return whether an error is caused by a message, not by the topic or the cluster."""
    return isinstance(error, (SerdeError, RecordRefusedError, RowsRefusedError))


@dataclass(frozen=True)
class _Place:
    """A topic, and the data for choosing the partition of a key.

    Attributes:
        topic: The topic.
        partitions: The number of partitions.
        turns: Counts records without a key, which are distributed round-robin.
    """

    topic: Topic[Any, Any]
    partitions: int
    turns: count[int]

    def partition(self, key: bytes | None) -> int:
        return target(self.topic.partitioner, key, self.partitions, self.turns)


class Appender:
    """Appends records of bytes to topics of one connection.

    Args:
        topic: The topic of messages.
        connection: The connection of the topics.
        letters: The topic of dead letters; None without dead letters.

    Raises:
        UnknownTopicError: A topic does not exist, and the connection does not create topics.
    """

    def __init__(
        self,
        topic: Topic[Any, Any],
        connection: Connection,
        letters: Topic[bytes | None, bytes | None] | None,
    ) -> None:
        prepare(topic.key, topic.value, writes=topic.framing is not None)
        self._topic = topic
        self._main = _Place(topic, partition_count(connection, topic.name), count())
        self._letters = (
            None
            if letters is None
            else _Place(letters, partition_count(connection, letters.name), count())
        )
        self._writer = connection.writer()

    def checked(self, record: _Bytes) -> _Bytes:
        """Check that the topic's readers can decode a record; return the record in their format.

        Raises:
            SerdeError: The serdes of the topic cannot read key or value.
            RecordRefusedError: The record has no key, and readers of the topic drop such records.
        """
        topic = self._topic
        where = Where(topic=topic.name)
        if record.key is not None:
            self._read("key", topic.key, record.key)
        elif topic.null_keys == "drop" and topic.key != NONE:
            raise RecordRefusedError(
                "the message has no key, and readers of the topic drop records without one",
                hint="set a key in the function of complete=, or define the topic with key=NONE or "
                "null_keys='pass'.",
                where=where,
            )
        if record.value is not None:
            self._read("value", topic.value, record.value)
        key, value, headers = topic.framed(record.key, record.value, record.headers)
        return Record(key, value, record.timestamp, headers)

    def append(self, records: Sequence[_Bytes]) -> list[KStreamsError | None]:
        """Append records, and wait for the outcome of each.

        Returns:
            For each record, None if it is durable, else the error. A record that the topic rejects
            does not affect the other records.
        """
        found = self._append(self._main, records)
        if len(records) > 1:  # a cluster refuses all that it got together
            for row, error in enumerate(found):
                if error is not None and is_of_message(error):
                    (found[row],) = self._append(self._main, [records[row]])
        return found

    def set_aside(self, letter: _Bytes, smaller: _Bytes) -> KStreamsError | None:
        """Append a dead letter; if its topic rejects the letter, append a smaller letter.

        Returns:
            None if a letter is durable, else the error.
        """
        if self._letters is None:
            raise ValueError("the intake has no topic for dead letters")
        (error,) = self._append(self._letters, [letter])
        if error is not None and is_of_message(error):
            (error,) = self._append(self._letters, [smaller])
        return error

    def close(self) -> None:
        """Close the topics."""
        with suppress(KStreamsError):  # each record's error was reported
            self._writer.close()

    def _append(self, place: _Place, records: Sequence[_Bytes]) -> list[KStreamsError | None]:
        begun = [self._begin(place, record) for record in records]
        with suppress(KStreamsError):  # the futures have it too
            self._writer.flush()
        return [each if isinstance(each, KStreamsError) else _outcome(each) for each in begun]

    def _begin(self, place: _Place, record: _Bytes) -> Future[Appended] | KStreamsError:
        try:
            return self._writer.write(
                place.topic.name,
                place.partition(record.key),
                record.key,
                record.value,
                record.timestamp,
                record.headers,
            )
        except KStreamsError as exc:
            return exc

    def _read(self, part: str, serde: Serde[Any], data: bytes) -> None:
        reader = serde if self._topic.framing is None else plain_of(serde)
        try:
            reader.deserialize(data)
        except KStreamsError as exc:
            raise exc.at(topic=self._topic.name) from None
        except Exception as exc:  # a serde that is not as strict as its contract
            raise SerializationError(
                f"the {part} of the message cannot be read by {repr_of(serde)}: {kind_of(exc)}",
                where=Where(topic=self._topic.name),
            ) from exc


def _outcome(future: Future[Appended]) -> KStreamsError | None:
    error = future.exception()
    if error is None or isinstance(error, KStreamsError):
        return error
    raise error
