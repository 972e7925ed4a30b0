"""The reading side of Kafka topics, record by record, outside of a topology."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta

from kstreams.connection import RawRecord
from kstreams.errors import Where
from kstreams.raw_batch import named_headers
from kstreams_kafka.client_options import ClientOptions
from kstreams_kafka.consumers import Consumers
from kstreams_kafka.headers import read_headers
from kstreams_kafka.librdkafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from kstreams_kafka.partition_counts import PartitionCounts

__all__ = ("KafkaReader",)

_POLL_S = 0.5
_LOST = "read again from the current beginning of the topic."


class KafkaReader:
    """Implements `kstreams.connection.TopicReader` on Kafka. Threads may share it.

    Records of open and aborted transactions are left out, unless the consumer's options
    have another `isolation.level`.

    Args:
        consumer: Options of a consumer.
        admin: Options of an admin client.
        timeout: The time limit for a broker's answer.
    """

    def __init__(
        self,
        consumer: ClientOptions,
        admin: ClientOptions,
        *,
        timeout: timedelta = timedelta(seconds=20),
    ) -> None:
        self._consumers = Consumers(consumer, lost=_LOST)
        self._counts = PartitionCounts(admin, timeout=timeout)
        self._timeout_s = timeout.total_seconds()
        self._idle: list[Consumer] = []

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[RawRecord]:
        """Yield records with `start <= offset < end` in offset order, without waiting for new ones.

        Records that are appended after the call may be included or not. Offsets without a record
        (deleted, compacted, transaction markers) are skipped.

        Raises:
            UnknownTopicError: At the call: the topic or the partition does not exist.
            KafkaOptionsError: At the call: librdkafka does not know an option.
            BrokerUnavailableError: No broker answers.
            KafkaRequestError: While iterating: the cluster rejects a request, for example without a
                permission.
            DataLossError: While iterating: records that existed at the start were deleted before
                they were read.
        """
        self._counts.check(topic, partition)
        consumer = self._idle.pop() if self._idle else self._consumers.open()
        return self._records(consumer, topic, partition, start, end)

    def close(self) -> None:
        """Close the idle connections; unfinished iterators keep theirs."""
        while self._idle:
            self._idle.pop().close()

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
            raise self._consumers.failure(
                exc.args[0], where
            ) from None  # the cause could show a secret
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
                    raise self._consumers.silence(f"no records within {self._timeout_s:g} s")
                continue
            error = message.error()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    return
                raise self._consumers.failure(error, where)
            record = _raw(message)
            if record.offset < end:
                yield record
            if record.offset >= end - 1:
                return
            deadline = time.monotonic() + self._timeout_s


def _raw(message: Message) -> RawRecord:
    (found,) = read_headers([message])
    headers = named_headers(found)
    return RawRecord(
        message.topic() or "",
        message.partition() or 0,
        message.offset() or 0,
        message.timestamp()[1],
        message.key(),
        message.value(),
        headers,
        headers_readable=len(headers) == len(found),
    )
