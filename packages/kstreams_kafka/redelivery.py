"""Writes records of one topic to other topics, in transactions that store their offsets."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from kstreams.connection import RawRecord
from kstreams.errors import LimitError, TransactionError, Where
from kstreams_kafka.client_options import ClientOptions
from kstreams_kafka.consumers import Consumers
from kstreams_kafka.librdkafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from kstreams_kafka.options import Kafka
from kstreams_kafka.producing import ProducerErrors

__all__ = ("KafkaRedelivery",)

T = TypeVar("T")
"""Type of a call's result."""

_STEP_S = 20.0
_MOST_TEXT = 4_000
"""The maximum length of the text of an offset; the default limit of brokers is 4,096 bytes."""


class KafkaRedelivery:
    """Redelivers the records of one topic; `read_committed` readers see each record once.

    The group `kstreams-redelivery/<topic>` stores the redelivered offsets as text, in the metadata
    of its own offsets, in the same transaction as the records. Opening a redelivery fences another
    one and ends its open transaction. If the cluster has deleted the group
    (`offsets.retention.minutes`, a week by default), all records are redelivered again.

    Args:
        connection: The cluster.
        topic: The topic whose records are redelivered.
        partitions: The number of partitions of the topic.
    """

    def __init__(self, connection: Kafka, topic: str, partitions: int) -> None:
        self._topic = topic
        self._partitions = range(partitions)
        name = f"kstreams-redelivery/{topic}"
        own = ClientOptions({**connection.client_options("producer"), "transactional.id": name})
        self._group = {**connection.client_options("consumer"), "group.id": name}
        self._own = own
        self._errors = ProducerErrors(own)
        self._consumers = self._of_group("read_uncommitted")  # waits for no transaction
        self._producer: Producer | None = None
        self._consumer: Consumer | None = None
        self._failed: list[tuple[KafkaError, Message]] = []

    def open(self) -> dict[int, str]:
        """Fence other redeliveries, end their open transactions, and return redelivered offsets.

        Returns:
            The redelivered offsets by partition, as they were passed to the last `send` as `done`.

        Raises:
            TransactionError: The cluster does not support transactions.
            BrokerUnavailableError: No broker answers.
        """
        try:
            self._producer = Producer({**self._own})
        except KafkaException as exc:
            raise self._errors.refusal(exc) from None  # the cause could show a secret
        producer = self._producer
        self._with_typed_errors(lambda: producer.init_transactions(_STEP_S))
        self._consumers = self._of_group("read_committed")
        return self.peek()

    def peek(self) -> dict[int, str]:
        """Return the redelivered offsets by partition, without changes to the cluster."""
        consumer = self._opened()
        places = [TopicPartition(self._topic, number) for number in self._partitions]
        deadline = time.monotonic() + _STEP_S
        while True:
            try:
                found = consumer.committed(places, timeout=_STEP_S)
            except KafkaException as exc:
                if time.monotonic() > deadline:
                    raise self._consumers.failure(exc.args[0], Where(topic=self._topic)) from None
            else:
                return {each.partition: each.metadata or "" for each in found if each.offset >= 0}

    def send(self, records: Sequence[RawRecord], done: Mapping[int, str]) -> None:
        """Write records and store the redelivered offsets, in one transaction.

        Args:
            records: The records with their targets, in order.
            done: All redelivered offsets as text, by partition of the topic.

        Raises:
            LimitError: The text of the redelivered offsets is longer than brokers store.
            RecordRefusedError, UnknownTopicError: A topic does not accept a record.
            TransactionError: It is unknown whether the records were written: try again.
            FencedError: Another process redelivers the topic.
        """
        producer = self._producer
        if producer is None:
            raise TransactionError("the redelivery is not open")
        places = [self._place(partition, text) for partition, text in done.items()]
        self._failed.clear()
        self._with_typed_errors(producer.begin_transaction)
        try:
            self._write(producer, records)
            self._keep(producer, places)
            self._with_typed_errors(lambda: producer.commit_transaction(_STEP_S))
        except BaseException:
            with suppress(KafkaException):
                producer.abort_transaction(_STEP_S)
            raise

    def _write(self, producer: Producer, records: Sequence[RawRecord]) -> None:
        for record in records:
            self._produce(producer, record)
        producer.flush(_STEP_S)
        for error, message in self._failed[:1]:
            topic, partition = message.topic() or "", message.partition()
            raise self._errors.failure(error, topic, partition, message.key())

    def _keep(self, producer: Producer, places: list[TopicPartition]) -> None:
        metadata = self._opened().consumer_group_metadata()
        self._with_typed_errors(
            lambda: producer.send_offsets_to_transaction(places, metadata, _STEP_S)
        )

    def close(self) -> None:
        """Close the clients; a second call does nothing."""
        consumer, self._consumer, self._producer = self._consumer, None, None
        if consumer is not None:
            consumer.close()

    def _of_group(self, isolation: str) -> Consumers:
        return Consumers(ClientOptions({**self._group, "isolation.level": isolation}), lost="")

    def _opened(self) -> Consumer:
        if self._consumer is None:
            self._consumer = self._consumers.open()
        return self._consumer

    def _place(self, partition: int, text: str) -> TopicPartition:
        if len(text) > _MOST_TEXT:
            raise LimitError(
                f"cannot store the redelivered offsets of partition {partition} of topic "
                f"{self._topic!r}: their list has {len(text):,} characters, but brokers keep "
                f"{_MOST_TEXT:,} characters at most",
                hint="first redeliver all records of the topic, without a selection. The offsets "
                "are then consecutive, and their list is short.",
            )
        first = text.partition(",")[0].rpartition("-")[2]
        return TopicPartition(self._topic, partition, int(first) + 1, text)

    def _produce(self, producer: Producer, record: RawRecord) -> None:
        while True:
            try:
                producer.produce(
                    record.topic,
                    record.value,
                    record.key,
                    record.partition,
                    on_delivery=self._settle,
                    timestamp=record.timestamp,
                    headers=list(record.headers),
                )
            except BufferError:
                producer.poll(0.05)
            except KafkaException as exc:
                raise self._errors.failure(
                    exc.args[0], record.topic, record.partition, record.key
                ) from None  # the cause could show a secret
            else:
                producer.poll(0)
                return

    def _settle(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed.append((error, message))

    def _with_typed_errors(self, call: Callable[[], T]) -> T:
        """Return the result of a client call; raise its failure as a `TransactionError`."""
        try:
            return call()
        except KafkaException as exc:
            error: KafkaError = exc.args[0]
            raise TransactionError(
                f"records of {self._topic!r} were not redelivered: "
                f"{self._own.scrub(error.str())} ({error.name()})",
                hint="try again: no record is written twice. Check that no other process "
                "redelivers the topic, and that the cluster supports transactions.",
            ) from None  # the cause could show a secret
