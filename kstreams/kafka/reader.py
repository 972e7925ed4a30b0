"""The reading side of Kafka topics, record by record, outside of a topology."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from kstreams.connection import RawRecord
from kstreams.errors import DataLossError, UnknownTopicError, Where
from kstreams.kafka.errors import BrokerUnavailableError, KafkaOptionsError, KafkaRequestError
from kstreams.kafka.librdkafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from kstreams.kafka.options import Kafka
from kstreams.kafka.partition_counts import PartitionCounts

__all__ = ("KafkaReader",)

_LOG = logging.getLogger("kstreams.kafka")
_DEFAULTS: dict[str, Any] = {
    "group.id": "kstreams-reader",  # asked for, never used: nothing is committed
    "isolation.level": "read_committed",
}
_FIXED: dict[str, Any] = {
    "auto.offset.reset": "error",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
}
_POLL_S = 0.5


class KafkaReader:
    """
    Implements `kstreams.connection.TopicReader` on Kafka. Threads may share it.

    Records of open and aborted transactions are left out, unless the connection's
    `consumer` options have another `isolation.level`.

    Args:
        connection: The cluster.
        timeout: How long to wait for a broker that does not answer.
    """

    def __init__(self, connection: Kafka, *, timeout: timedelta = timedelta(seconds=20)) -> None:
        self._connection = connection
        self._options = connection.client_options("consumer")
        self._counts = PartitionCounts(connection, timeout=timeout)
        self._timeout_s = timeout.total_seconds()
        self._idle: list[Consumer] = []
        self._said: deque[str] = deque(maxlen=1)

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[RawRecord]:
        """
        Yield records with `start <= offset < end` in offset order, without waiting.

        What is appended after the call may be seen or not. Offsets without a record
        (deleted, compacted, markers of transactions) are passed over.

        Raises:
            UnknownTopicError: At the call: there is no such topic, or no such partition.
            KafkaOptionsError: At the call: librdkafka does not know an option.
            BrokerUnavailableError: No broker answers.
            KafkaRequestError: While iterating: the cluster refuses, for want of a
                permission for one.
            DataLossError: While iterating: records that were there when it began were
                deleted before they were read.
        """
        self._counts.check(topic, partition)
        consumer = self._idle.pop() if self._idle else self._open()
        return self._records(consumer, topic, partition, start, end)

    def close(self) -> None:
        """Let go of connections; iterators that are not at their end keep theirs."""
        while self._idle:
            self._idle.pop().close()

    def _open(self) -> Consumer:
        said = self._said
        given = {**_DEFAULTS, **self._options, **_FIXED}
        given["error_cb"] = lambda error: said.append(error.str())
        try:
            return Consumer(given, logger=_LOG)
        except KafkaException as exc:
            raise KafkaOptionsError(
                f"Kafka consumer options are refused: {self._options.scrub(exc.args[0].str())}",
                hint="names and values are librdkafka's.",
            ) from None  # the cause could show a secret

    def _records(
        self, consumer: Consumer, topic: str, partition: int, start: int, end: int
    ) -> Iterator[RawRecord]:
        where = Where(topic=topic, partition=partition)
        try:
            low, high = consumer.get_watermark_offsets(
                TopicPartition(topic, partition), timeout=self._timeout_s
            )
            if max(start, low) < min(end, high):
                consumer.assign([TopicPartition(topic, partition, max(start, low))])
                yield from self._until(consumer, end, where)
                consumer.unassign()
        except KafkaException as exc:
            consumer.close()
            raise self._failure(exc.args[0], where) from None  # the cause could show a secret
        except BaseException:
            consumer.close()
            raise
        self._idle.append(consumer)

    def _until(self, consumer: Consumer, end: int, where: Where) -> Iterator[RawRecord]:
        deadline = time.monotonic() + self._timeout_s
        while True:
            message = consumer.poll(_POLL_S)
            if message is None:
                if time.monotonic() > deadline:
                    raise self._silence("no records in time")
                continue
            error = message.error()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    return
                raise self._failure(error, where)
            record = _raw(message)
            if record.offset < end:
                yield record
            if record.offset >= end - 1:
                return
            deadline = time.monotonic() + self._timeout_s

    def _failure(self, error: KafkaError, where: Where) -> Exception:
        reason = self._options.scrub(error.str())
        match error.code():
            case KafkaError.UNKNOWN_TOPIC_OR_PART | KafkaError._UNKNOWN_PARTITION:
                return UnknownTopicError(f"the topic is gone: {reason}", where=where)
            case KafkaError._AUTO_OFFSET_RESET | KafkaError.OFFSET_OUT_OF_RANGE:
                return DataLossError(
                    f"records were deleted while they were read: {reason}",
                    hint="read again, from the topic's present beginning.",
                    where=where,
                )
            case KafkaError._TRANSPORT | KafkaError._TIMED_OUT | KafkaError._ALL_BROKERS_DOWN:
                return self._silence(reason)
        return KafkaRequestError(f"Kafka refused: {reason}", code=error.name(), where=where)

    def _silence(self, reason: str) -> BrokerUnavailableError:
        said = self._options.scrub("".join(self._said))
        bootstrap = self._options["bootstrap.servers"]
        return BrokerUnavailableError(bootstrap, f"{reason}; {said}" if said else reason)


def _raw(message: Message) -> RawRecord:
    headers: Any = message.headers() or ()  # the stub has what a producer may give
    return RawRecord(
        message.topic() or "",
        message.partition() or 0,
        message.offset() or 0,
        message.timestamp()[1],
        message.key(),
        message.value(),
        tuple(headers),
    )
