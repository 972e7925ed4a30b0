"""Producers: made with the library's defaults, with typed failures."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import chain
from typing import Any

from kstreams.errors import (
    DeliveryError,
    KafkaOptionsError,
    KStreamsError,
    RecordRefusedError,
    UnknownTopicError,
    Where,
)
from kstreams.kafka.client_log import ClientLog
from kstreams.kafka.client_options import ClientOptions
from kstreams.kafka.headers import HeaderList
from kstreams.kafka.librdkafka import KafkaError, KafkaException, Message, Producer

__all__ = (
    "BATCH_BYTES",
    "BulkProducer",
    "DeliveryReport",
    "ProducerLink",
    "Row",
    "check_timestamp",
)

Row = tuple[str, "bytes | None", "bytes | None", int, None, None, int, HeaderList]
"""Arguments of `Producer.produce` by position: the fastest way to call it."""

_DEFAULTS = {
    "enable.idempotence": "true",  # so acks=all, order, and no copies within one producer
    "compression.type": "lz4",
    "message.timeout.ms": "60000",
    "queue.buffering.max.messages": "100000",
    "queue.buffering.max.kbytes": "131072",
}
BATCH_BYTES = 1_000_000
"""librdkafka's own default of `batch.size`."""
_BULK: dict[str, str | bool] = {
    "message.max.bytes": "1000000000",  # the topic's limit is what counts
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

_OF_OTHERS = KafkaError._INVALID_DIFFERENT_RECORD

_Failed = tuple[KafkaError, str, "int | None", "bytes | None"]
"""Why a record was not written, its topic, partition and key."""

DeliveryReport = Callable[["KafkaError | None", Message], None]
"""What a producer calls for a record, once its fate is known."""


class ProducerLink:
    """A producer with the library's defaults, whose failures are typed.

    No error, nor the cause of one, holds a secret of the options.

    Args:
        options: Those of a producer; they win over the defaults.
        on_delivery: Called from `poll` and `flush` for each record.
        settings: Defaults of this use.

    Raises:
        KafkaOptionsError: librdkafka does not know an option or its value.
    """

    def __init__(
        self,
        options: ClientOptions,
        on_delivery: DeliveryReport,
        settings: Mapping[str, str | bool],
    ) -> None:
        self._options = options
        # Not a method: a client that refers to its owner is not freed with it.
        said: deque[str] = deque(maxlen=1)
        self._said = said
        given: dict[str, Any] = {**_DEFAULTS, **settings, **self._options}
        given["on_delivery"] = on_delivery
        given["error_cb"] = lambda error: said.append(error.str())
        try:
            self.client = Producer(given, logger=ClientLog(self._options))
        except KafkaException as exc:
            raise KafkaOptionsError(
                f"Kafka producer options are refused: {self._options.scrub(exc.args[0].str())}",
                hint="names and values are librdkafka's.",
            ) from None  # the cause could show a secret

    def failure(
        self, error: KafkaError, topic: str, partition: int | None, key: bytes | None
    ) -> KStreamsError:
        """Return the typed error of a record that was not written."""
        where = Where(topic=topic, partition=partition, key=key)
        code, reason = error.name(), self._options.scrub(error.str())
        if error.code() in _MISSING:
            return UnknownTopicError(
                f"topic {topic!r} or its partition does not exist at {self._bootstrap}: {reason}",
                hint="create it first, or check its name.",
                where=where,
            )
        if error.code() in _REFUSED:
            return RecordRefusedError(f"Kafka cannot take a record: {reason}", code, where=where)
        said = self._options.scrub("".join(self._said))
        return DeliveryError(
            f"a record was not written to Kafka at {self._bootstrap}: {reason}"
            + (f"; {said}" if said else ""),
            code,
            where=where,
        )

    @property
    def _bootstrap(self) -> str:
        return self._options["bootstrap.servers"]


class BulkProducer:
    """Produces many records and reports the first failure; one thread at a time.

    Args:
        options: Those of a producer.
        batch_bytes: The least limit of the topics that are written: no more than so much is
            sent in one batch, which would be refused as a whole.

    Raises:
        KafkaOptionsError: librdkafka does not know an option or its value.
    """

    def __init__(self, options: ClientOptions, *, batch_bytes: int | None = None) -> None:
        failed: list[_Failed] = []

        def report(error: KafkaError | None, message: Message) -> None:
            # One that failed for others' sake says least.
            if error is not None and (not failed or failed[0][0].code() == _OF_OTHERS):
                failed[:] = [_failed(error, message)]

        self._failed = failed
        size = min(batch_bytes or BATCH_BYTES, BATCH_BYTES)
        self._link = ProducerLink(options, report, {**_BULK, "batch.size": str(size)})

    def produce(self, chunks: Iterable[Iterable[Row]]) -> None:
        """Queue records, waiting for room where needed.

        Raises:
            KStreamsError: A record was refused, or an earlier one was not delivered.
        """
        produce = self._link.client.produce
        for rows in chunks:
            for row in rows:
                try:
                    produce(*row)
                except BufferError:
                    self._produce_slowly(row)
                except KafkaException as exc:
                    raise self._link.failure(exc.args[0], row[0], row[3], row[2]) from None
            self._link.client.poll(0)
            self._check()

    def produce_noting(self, chunks: Iterable[Iterable[Row]]) -> dict[int, RecordRefusedError]:
        """Write records and wait; return those that were refused, by number.

        The producer is not to be used again.

        Raises:
            KStreamsError: A record was not delivered for another reason.
        """
        failed: dict[int, _Failed] = {}
        for number, row in enumerate(chain.from_iterable(chunks)):
            topic, value, key, partition, _, _, timestamp, headers = row
            report = partial(_note, failed, number)
            while True:
                try:
                    self._link.client.produce(
                        topic, value, key, partition, report, None, timestamp, headers
                    )
                except BufferError:
                    self._link.client.poll(_POLL_S)
                    continue
                except KafkaException as exc:
                    failed[number] = exc.args[0], topic, partition, key
                break
        while self._link.client.flush(_POLL_S * 10):
            pass
        refused: dict[int, RecordRefusedError] = {}
        for number, found in sorted(failed.items()):
            error = self._link.failure(*found)
            if not isinstance(error, RecordRefusedError):
                raise error
            refused[number] = error
        return refused

    def flush(self) -> None:
        """Wait until all records are delivered, or the first has failed.

        Raises:
            KStreamsError: A record was not delivered.
        """
        while self._link.client.flush(_POLL_S * 10):
            self._check()
        self._check()

    def abandon(self) -> None:
        """Drop what is still queued; the producer is not to be used again."""
        self._link.client.purge()
        self._link.client.flush(_LAST_POLL_S)

    def _produce_slowly(self, row: Row) -> None:
        """Wait for room: it comes, since records that stay too long in the queue fail."""
        while True:
            self._link.client.poll(_POLL_S)
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


def _failed(error: KafkaError, message: Message) -> _Failed:
    return error, message.topic() or "", message.partition(), message.key()


def _note(
    failed: dict[int, _Failed], number: int, error: KafkaError | None, message: Message
) -> None:
    if error is not None:
        failed[number] = _failed(error, message)


def check_timestamp(timestamp: int, topic: str, key: bytes | None) -> None:
    """Raise `RecordRefusedError` at a timestamp that cannot be written."""
    if timestamp < 1:
        raise RecordRefusedError(
            f"timestamp {timestamp} ms cannot be written: librdkafka takes 0 for 'now', and the "
            "broker refuses negative ones",
            "INVALID_TIMESTAMP",
            hint="give the record a time of 1 ms or later.",
            where=Where(topic=topic, key=key, timestamp=timestamp),
        )
