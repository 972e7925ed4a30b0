"""Producers with the library's default options and typed errors."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain, repeat
from typing import Any

from typing_extensions import override

from kstreams.errors import (
    DeliveryError,
    KafkaOptionsError,
    KStreamsError,
    RecordRefusedError,
    UnknownTopicError,
    Where,
)
from kstreams_kafka.client_log import ClientLog
from kstreams_kafka.client_options import ClientOptions
from kstreams_kafka.client_transactions import ClientTransactions
from kstreams_kafka.librdkafka import KafkaError, KafkaException, Message, Producer
from kstreams_kafka.outgoing import Outgoing, Row, TableProducer

__all__ = (
    "BATCH_BYTES",
    "BULK",
    "DEFAULTS",
    "FOR_OTHERS",
    "BulkProducer",
    "DeliveryReport",
    "Failed",
    "ProducerErrors",
    "ProducerLink",
    "check_timestamp",
    "flush_waits_s",
)

DEFAULTS = {
    "enable.idempotence": "true",  # so acks=all, order, and no copies within one producer
    "compression.type": "lz4",
    "message.timeout.ms": "60000",
    "queue.buffering.max.messages": "100000",
    "queue.buffering.max.kbytes": "131072",
}
BATCH_BYTES = 1_000_000
"""librdkafka's own default of `batch.size`."""
BULK: dict[str, str | bool] = {
    "message.max.bytes": "1000000000",  # the topic's limit counts
    "linger.ms": "20",
    "batch.num.messages": "100000",
    "delivery.report.only.error": True,  # the client takes no text for this one
}
_MISSING = frozenset(
    {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION}
)
_REFUSED = frozenset(
    {
        KafkaError.INVALID_MSG,
        KafkaError.INVALID_MSG_SIZE,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_TIMESTAMP,
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError._INVALID_ARG,
        KafkaError._INVALID_DIFFERENT_RECORD,
    }
)
_POLL_S = 0.05
_LAST_POLL_S = 2.0
_SOON_S = 0.001
_SOON_TIMES = 24
_SHORT_POLL_S = 0.005

FOR_OTHERS = KafkaError._INVALID_DIFFERENT_RECORD
"""The error of a record that failed because another record of its batch was refused."""

Failed = tuple[KafkaError, str, "int | None", "bytes | None"]
"""The error of a record that was not written, and its topic, partition and key."""

DeliveryReport = Callable[["KafkaError | None", Message], None]
"""A producer's callback for the delivery result of a record."""


class ProducerErrors:
    """Converts librdkafka's errors to typed errors, without secrets in errors or causes.

    Args:
        options: The producer's options.

    Attributes:
        client_errors: The client's own last error, which often is the reason of a failure.
    """

    def __init__(self, options: ClientOptions) -> None:
        self._options = options
        self.client_errors: deque[KafkaError] = deque(maxlen=1)

    def refusal(self, exc: KafkaException) -> KafkaOptionsError:
        """Return the error of options with which no producer can be created."""
        return KafkaOptionsError(
            f"Kafka producer options are refused: {self._options.scrub(exc.args[0].str())}",
            hint="use the names and values of librdkafka's CONFIGURATION.md.",
        )

    def failure(
        self, error: KafkaError, topic: str, partition: int | None, key: bytes | None
    ) -> KStreamsError:
        """Return the error of a record that was not written."""
        where = Where(topic=topic, partition=partition, key=key)
        code, reason = error.name(), self._options.scrub(error.str())
        bootstrap = self._options["bootstrap.servers"]
        if error.code() in _MISSING:
            return UnknownTopicError(
                f"topic {topic!r} or its partition does not exist at {bootstrap}: {reason}",
                hint="create the topic first, or check the name.",
                where=where,
            )
        if error.code() in _REFUSED:
            return RecordRefusedError(f"Kafka rejected a record: {reason}", code, where=where)
        client_text = self._options.scrub("".join(each.str() for each in self.client_errors))
        return DeliveryError(
            f"a record was not written to Kafka at {bootstrap}: {reason}"
            + (f"; {client_text}" if client_text else ""),
            code,
            where=where,
        )


class ProducerLink:
    """A producer of the Python client with the library's defaults and typed errors.

    Args:
        options: The producer's options; they override the defaults.
        on_delivery: Delivery callback, called from `poll` and `flush`.
        settings: Options that override the library's defaults; `options` override them.

    Raises:
        KafkaOptionsError: librdkafka does not know an option or its value.
    """

    def __init__(
        self,
        options: ClientOptions,
        on_delivery: DeliveryReport,
        settings: Mapping[str, str | bool],
    ) -> None:
        errors = ProducerErrors(options)
        self.failure = errors.failure
        given: dict[str, Any] = {**DEFAULTS, **settings, **options}
        given["on_delivery"] = on_delivery
        # Not our method: a client that refers to its owner is not freed with it.
        given["error_cb"] = errors.client_errors.append
        self._transactional = "transactional.id" in given
        try:
            self.client = Producer(given, logger=ClientLog(options))
        except KafkaException as exc:
            raise errors.refusal(exc) from None  # the cause could show a secret

    def poll(self, timeout_s: float) -> None:
        """Serve delivery callbacks, and wait for more of them.

        Raises:
            DeliveryError: The producer failed and cannot be used again.
        """
        self._serve(partial(self.client.poll, timeout_s))

    def flush(self, timeout_s: float) -> int:
        """Wait for the delivery of all records; return the number of records still pending.

        Raises:
            DeliveryError: The producer failed and cannot be used again.
        """
        if not self._transactional:
            return self._serve(partial(self.client.flush, timeout_s))
        # The client raises a fatal error from inside: `flush` calls our callbacks in that state.
        deadline = time.monotonic() + timeout_s
        left = len(self.client)
        while left and time.monotonic() < deadline:
            self.poll(_SHORT_POLL_S)
            left = len(self.client)
        return left

    def _serve(self, step: Callable[[], int]) -> int:
        """Return the result of a client call; raise the client's fatal errors as typed errors."""
        try:
            return step()
        except KafkaException as exc:
            raise self.failure(exc.args[0], "", None, None) from None


class BulkProducer(TableProducer):
    """Produces many records and reports the first failure; one thread at a time.

    Args:
        options: The producer's options.
        batch_bytes: The smallest size limit of the written topics, which also limits the size of
            batches, because brokers reject a larger batch as a whole.

    Raises:
        KafkaOptionsError: librdkafka does not know an option or its value.
    """

    def __init__(self, options: ClientOptions, *, batch_bytes: int | None = None) -> None:
        failed: list[Failed] = []

        def report(error: KafkaError | None, message: Message) -> None:
            if error is not None and (not failed or failed[0][0].code() == FOR_OTHERS):
                failed[:] = [_failed(error, message)]

        self._failed = failed
        self._bootstrap = options["bootstrap.servers"]
        size = min(batch_bytes or BATCH_BYTES, BATCH_BYTES)
        self._link = ProducerLink(options, report, {**BULK, "batch.size": str(size)})

    @override
    def transactions(self) -> ClientTransactions:
        return ClientTransactions(self._link.client, self._bootstrap)

    @override
    def send(self, piece: Outgoing) -> None:
        produce = self._link.client.produce
        for rows in piece.rows():
            for row in rows:
                try:
                    produce(*row)
                except BufferError:
                    self._produce_slowly(row)
                except KafkaException as exc:
                    raise self._link.failure(exc.args[0], row[0], row[3], row[2]) from None
            self._link.poll(0)
            self._check()

    def send_noting(self, pieces: Iterable[Outgoing]) -> dict[int, RecordRefusedError]:
        """Write records and wait; return the errors of refused records, by record number.

        The producer cannot be used again.

        Raises:
            KStreamsError: A record was not delivered for another reason.
        """
        failed: dict[int, Failed] = {}
        chunks = chain.from_iterable(piece.rows() for piece in pieces)
        for number, row in enumerate(chain.from_iterable(chunks)):
            topic, value, key, partition, _, _, timestamp, headers = row
            report = partial(_note, failed, number)
            while True:
                try:
                    self._link.client.produce(
                        topic, value, key, partition, report, None, timestamp, headers
                    )
                except BufferError:
                    self._link.poll(_POLL_S)
                    continue
                except KafkaException as exc:
                    failed[number] = exc.args[0], topic, partition, key
                break
        while self._link.flush(_POLL_S * 10):
            pass
        refused: dict[int, RecordRefusedError] = {}
        for number, found in sorted(failed.items()):
            error = self._link.failure(*found)
            if not isinstance(error, RecordRefusedError):
                raise error
            refused[number] = error
        return refused

    @override
    def flush(self) -> None:
        waits = flush_waits_s()
        while self._link.flush(next(waits)):
            self._check()
        self._check()

    @override
    def abandon(self) -> None:
        with suppress(DeliveryError):
            self._link.client.purge()
            self._link.flush(_LAST_POLL_S)

    def _produce_slowly(self, row: Row) -> None:
        """Wait until the producer's full queue has room, then queue a row.

        The wait ends, because records that stay too long in the queue fail.

        Raises:
            KStreamsError: The row was rejected, or an earlier record was not delivered.
        """
        while True:
            self._link.poll(_POLL_S)
            self._check()
            try:
                self._link.client.produce(*row)
            except BufferError:
                continue
            except KafkaException as exc:
                raise self._link.failure(exc.args[0], row[0], row[3], row[2]) from None
            return

    def _check(self) -> None:
        if self._failed:
            raise self._link.failure(*self._failed[0])


def flush_waits_s() -> Iterator[float]:
    """Yield the time limit of each call that flushes a producer, in seconds.

    If only errors are reported, no delivery wakes a flush: librdkafka checks the queue at the start
    of a flush, and every 10 ms. The few records of a small batch are delivered in 2 to 3 ms.
    """
    return chain(repeat(_SOON_S, _SOON_TIMES), repeat(_POLL_S * 10))


def _failed(error: KafkaError, message: Message) -> Failed:
    return error, message.topic() or "", message.partition(), message.key()


def _note(
    failed: dict[int, Failed], number: int, error: KafkaError | None, message: Message
) -> None:
    if error is not None:
        failed[number] = _failed(error, message)


def check_timestamp(timestamp: int, topic: str, key: bytes | None) -> None:
    """Raise `RecordRefusedError` for a timestamp that cannot be written."""
    if timestamp < 1:
        raise RecordRefusedError(
            f"timestamp {timestamp} ms cannot be written: librdkafka takes 0 for 'now', and the "
            "broker refuses negative timestamps",
            "INVALID_TIMESTAMP",
            hint="give the record a time of 1 ms or later.",
            where=Where(topic=topic, key=key, timestamp=timestamp),
        )
