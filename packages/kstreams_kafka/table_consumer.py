"""The contract of consumers that return tables, and its implementation by the Python client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import is_, itemgetter, methodcaller, ne
from typing import Protocol

import numpy as np
import pyarrow as pa
from typing_extensions import override

from kstreams.raw_batch import INPUT_SCHEMA
from kstreams_kafka.headers import headers_column
from kstreams_kafka.librdkafka import Consumer, KafkaError, Message, TopicPartition

__all__ = ("ClientTableConsumer", "Place", "ReadError", "TableConsumer", "Taken")

Place = tuple[str, int]
"""A topic and the number of a partition."""

_STAMP = itemgetter(1)
_ERROR, _TOPIC, _PARTITION, _OFFSET, _TIMESTAMP, _KEY, _VALUE = map(
    methodcaller, ("error", "topic", "partition", "offset", "timestamp", "key", "value")
)


@dataclass(frozen=True)
class ReadError:
    """An error of librdkafka between records, including the end of a partition.

    Attributes:
        offset: The end offset, if the error is the end of a partition.
    """

    error: KafkaError
    place: Place
    offset: int


@dataclass(frozen=True)
class Taken:
    """Records and errors of one `take`.

    Attributes:
        runs: Records of one partition, tables of `INPUT_SCHEMA` with rising offsets, in the order
            of arrival; a partition may have several.
        errors: Errors that came between the records.
    """

    runs: Sequence[tuple[Place, pa.Table]] = ()
    errors: Sequence[ReadError] = ()


class TableConsumer(Protocol):
    """Reads partitions that it is assigned; one thread at a time.

    Raises:
        KafkaException: librdkafka refuses a call.
    """

    def assign(self, starts: Sequence[tuple[str, int, int]]) -> None:
        """Read only these partitions, given as topic, partition and start offset."""

    def pause(self, places: Sequence[Place]) -> None:
        """Stop fetching records of these partitions."""

    def resume(self, places: Sequence[Place]) -> None:
        """Fetch records of these paused partitions again."""

    def take(self, most: int, timeout_s: float) -> Taken:
        """Return available records; wait until `most` records have come, or for the time-out."""
        ...

    def close(self) -> None:
        """Close the connections; the consumer cannot be used again."""


class ClientTableConsumer(TableConsumer):
    """Implements `TableConsumer` with the Python client: a call for each field of each message.

    Args:
        consumer: An open consumer without partitions.
    """

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._topics: set[str] = set()

    @override
    def assign(self, starts: Sequence[tuple[str, int, int]]) -> None:
        self._topics = {topic for topic, _, _ in starts}
        self._consumer.assign([TopicPartition(*start) for start in starts])

    @override
    def pause(self, places: Sequence[Place]) -> None:
        self._consumer.pause([TopicPartition(*place) for place in places])

    @override
    def resume(self, places: Sequence[Place]) -> None:
        self._consumer.resume([TopicPartition(*place) for place in places])

    @override
    def take(self, most: int, timeout_s: float) -> Taken:
        messages = self._consumer.consume(most, timeout=timeout_s)
        if not messages:
            return Taken()
        errors = list(map(_ERROR, messages))
        failed: list[ReadError] = []
        # By identity: to compare an error of librdkafka's with None leaves an exception set.
        if not all(map(is_, errors, repeat(None))):
            failed = [
                ReadError(error, (m.topic() or "", m.partition() or 0), m.offset() or 0)
                for m, error in zip(messages, errors, strict=True)
                if error is not None
            ]
            messages = [m for m, error in zip(messages, errors, strict=True) if error is None]
        return Taken([(place, _table(run)) for place, run in self._runs(messages)], failed)

    @override
    def close(self) -> None:
        self._consumer.close()

    def _runs(self, messages: list[Message]) -> Iterator[tuple[Place, list[Message]]]:
        """Divide messages into runs of consecutive messages of one partition.

        Yields topic and partition, and the messages of the run.
        """
        count = len(messages)
        if not count:
            return
        partitions = np.fromiter(map(_PARTITION, messages), np.int32, count)
        changed = partitions[1:] != partitions[:-1]
        if len(self._topics) > 1:
            names = list(map(_TOPIC, messages))
            changed |= np.fromiter(map(ne, names[1:], names), np.bool_, count - 1)
        starts = [0, *(np.flatnonzero(changed) + 1).tolist()]
        for start, end in zip(starts, [*starts[1:], count], strict=True):
            yield (messages[start].topic() or "", int(partitions[start])), messages[start:end]


def _table(messages: list[Message]) -> pa.Table:
    count = len(messages)
    columns = [
        pa.array(np.fromiter(map(_OFFSET, messages), np.int64, count)),
        pa.array(np.fromiter(map(_STAMP, map(_TIMESTAMP, messages)), np.int64, count)),
        pa.array(list(map(_KEY, messages)), pa.binary()),
        pa.array(list(map(_VALUE, messages)), pa.binary()),
        headers_column(messages),
    ]
    return pa.Table.from_arrays(columns, schema=INPUT_SCHEMA)
