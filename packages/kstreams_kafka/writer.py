"""The writing side of Kafka topics, record by record, with a future for each."""

from __future__ import annotations

from functools import partial
from threading import Event

from typing_extensions import override

from kstreams.connection import Appended, Pending, RecordWriter
from kstreams.errors import ExecutionError, KStreamsError, Where
from kstreams.record import Headers
from kstreams_kafka.client_options import ClientOptions
from kstreams_kafka.headers import HeaderList, check_names
from kstreams_kafka.librdkafka import KafkaError, KafkaException, Message
from kstreams_kafka.partition_counts import PartitionCounts
from kstreams_kafka.producing import ProducerLink, check_timestamp

__all__ = ("KafkaWriter",)

_LINGER = {"linger.ms": "5"}
_POLL_S = 0.05


class KafkaWriter(RecordWriter):
    """Implements `kstreams.connection.TopicWriter` on Kafka.

    A record is durable when the cluster has acknowledged it according to the producer's `acks` (all
    replicas in sync); otherwise it fails after `message.timeout.ms`. Writing raises
    `UnknownTopicError` if the topic or the partition does not exist, `RecordRefusedError` if the
    timestamp is below 1, the name of a header has a NUL or cannot be encoded, or the record is too
    large, and `BrokerUnavailableError` if no broker answers.

    Args:
        producer: Options of a producer; they override the defaults.
        admin: Options of an admin client.

    Raises:
        KafkaOptionsError: librdkafka does not know an option or its value.
    """

    def __init__(self, producer: ClientOptions, admin: ClientOptions) -> None:
        self._counts = PartitionCounts(admin)
        self._link = ProducerLink(producer, self._settle, _LINGER)
        self._closing = Event()
        super().__init__("kstreams-kafka-writer")

    @override
    def _put(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        future: Pending | None,
    ) -> None:
        check_timestamp(timestamp, topic, key)
        if headers:
            check_names(headers, Where(topic=topic, key=key))
        self._counts.check(topic, partition)
        if self._closing.is_set():
            raise ExecutionError("the writer is closed", where=Where(topic=topic))
        produce = self._link.client.produce
        pairs: HeaderList | None = [*headers] or None
        report = None if future is None else partial(self._resolve, future)
        while True:
            try:
                produce(topic, value, key, partition, report, None, timestamp, pairs)
            except BufferError:
                self._link.client.poll(_POLL_S)
            except KafkaException as exc:
                raise self._link.failure(exc.args[0], topic, partition, key) from None
            else:
                return

    @override
    def _run(self) -> None:
        while not self._closing.is_set():
            self._link.client.poll(_POLL_S)

    @override
    def _wait(self) -> None:
        while self._link.client.flush(_POLL_S):
            pass

    @override
    def _stop(self) -> None:
        try:
            self._wait()
        finally:
            self._closing.set()
            self._thread.join()

    def _resolve(self, future: Pending, error: KafkaError | None, message: Message) -> None:
        if error is None:
            future.set_result(
                Appended(message.topic() or "", message.partition() or 0, message.offset() or 0)
            )
        else:
            future.set_exception(self._failed(error, message))

    def _settle(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed(error, message)

    def _failed(self, error: KafkaError, message: Message) -> KStreamsError:
        failure = self._link.failure(
            error, message.topic() or "", message.partition(), message.key()
        )
        self._counts.forget()
        self._note_failure(failure)
        return failure
