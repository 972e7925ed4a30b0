"""The writing side of Kafka topics, record by record, with a future for each."""

from __future__ import annotations

import atexit
from concurrent.futures import Future
from functools import partial
from threading import Event, Lock, Thread

from kstreams.connection import Appended
from kstreams.errors import ExecutionError, KStreamsError, Where
from kstreams.record import Headers
from kstreams_kafka.client_options import ClientOptions
from kstreams_kafka.headers import HeaderList, check_names
from kstreams_kafka.librdkafka import KafkaError, KafkaException, Message
from kstreams_kafka.partition_counts import PartitionCounts
from kstreams_kafka.producing import DeliveryReport, ProducerLink, check_timestamp

__all__ = ("KafkaWriter",)

_LINGER = {"linger.ms": "5"}
_POLL_S = 0.05


class KafkaWriter:
    """Implements `kstreams.connection.TopicWriter` on Kafka. Threads may share it.

    The order of one thread's writes to a partition is the order of their offsets. A background
    thread receives the delivery results. Unflushed records are flushed at the end of the process.

    Args:
        producer: Options of a producer; they override the defaults.
        admin: Options of an admin client.

    Raises:
        KafkaOptionsError: librdkafka does not know an option or its value.
    """

    def __init__(self, producer: ClientOptions, admin: ClientOptions) -> None:
        self._counts = PartitionCounts(admin)
        self._link = ProducerLink(producer, self._settle, _LINGER)
        self._failure: KStreamsError | None = None
        self._lock = Lock()
        self._closing = Event()
        self._thread = Thread(target=self._run, name="kstreams-kafka-writer", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def write(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers = (),
    ) -> Future[Appended]:
        """Queue a record; waits while the queue is full.

        Args:
            topic: An existing topic's name.
            partition: One of its partitions.
            key: Null or bytes.
            value: Null, which is a tombstone, or bytes.
            timestamp: Milliseconds since the epoch, at least 1.
            headers: Pairs of name and value.

        Returns:
            Resolves when the cluster has the record as the producer's `acks` say (all
            replicas in sync), or raises why not, within `message.timeout.ms`. It cannot
            be cancelled.

        Raises:
            UnknownTopicError: The topic does not exist, or has no such partition.
            RecordRefusedError: The timestamp is below 1, a header's name has a NUL or does
                not encode, or the record is too large.
            BrokerUnavailableError: No broker answers.
            ExecutionError: The writer is closed.
        """
        future: Future[Appended] = Future()
        future.set_running_or_notify_cancel()
        self._put(topic, partition, key, value, timestamp, headers, partial(self._resolve, future))
        return future

    def enqueue(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers = (),
    ) -> None:
        """Queue a record as `write` does, without a future; a failure shows at `flush`."""
        self._put(topic, partition, key, value, timestamp, headers, None)

    def flush(self) -> None:
        """Wait until all that was queued before the call is durable.

        Raises:
            KStreamsError: The first failure since the last flush; the futures concerned
                have it too.
        """
        while self._link.client.flush(_POLL_S):
            pass
        with self._lock:
            failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Flush, then end the background thread; raises as `flush`. May be repeated."""
        atexit.unregister(self.close)
        try:
            self.flush()
        finally:
            self._closing.set()
            self._thread.join()

    def _put(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        report: DeliveryReport | None,
    ) -> None:
        check_timestamp(timestamp, topic, key)
        if headers:
            check_names(headers, Where(topic=topic, key=key))
        self._counts.check(topic, partition)
        if self._closing.is_set():
            raise ExecutionError("the writer is closed", where=Where(topic=topic))
        produce = self._link.client.produce
        pairs: HeaderList | None = [*headers] or None
        while True:
            try:
                produce(topic, value, key, partition, report, None, timestamp, pairs)
            except BufferError:
                self._link.client.poll(_POLL_S)
            except KafkaException as exc:
                raise self._link.failure(exc.args[0], topic, partition, key) from None
            else:
                return

    def _resolve(
        self, future: Future[Appended], error: KafkaError | None, message: Message
    ) -> None:
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
        with self._lock:
            self._failure = self._failure or failure
        return failure

    def _run(self) -> None:
        while not self._closing.is_set():
            self._link.client.poll(_POLL_S)
