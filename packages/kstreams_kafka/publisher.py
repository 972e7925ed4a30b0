"""Publishes batches of results, each in one transaction with the batch's number."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from threading import Lock

import pyarrow as pa

from kstreams.errors import (
    DeliveryError,
    FencedError,
    KafkaOptionsError,
    KStreamsError,
    TransactionError,
    TransactionTimeoutError,
)
from kstreams_kafka.admin import KafkaAdmin
from kstreams_kafka.client_options import ClientOptions
from kstreams_kafka.group_offsets import group_offset
from kstreams_kafka.librdkafka import KafkaError, KafkaException
from kstreams_kafka.options import Kafka
from kstreams_kafka.outgoing import TableProducer, Transactions
from kstreams_kafka.producing import BATCH_BYTES
from kstreams_kafka.sink import open_producer, topic_limits
from kstreams_kafka.staged_rows import from_table, places

__all__ = ("Publisher",)

_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_TIMEOUT = "transaction.timeout.ms"
_DEFAULT_TIMEOUT_MS = 60_000
_DEFAULTS = {"linger.ms": "5"}
_ATTEMPTS = 4
_STEP_S = 5.0
_LAST_STEP_S = 2.0
_SEEN_S = 5.0
_POLL_S = 0.002
_FENCED = frozenset(
    KafkaError(code).name()
    for code in (
        KafkaError._FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.PRODUCER_FENCED,
    )
)
_REFUSED = "INVALID_TRANSACTION_TIMEOUT"
_FIX = "fix the cause, and start the app again, which publishes the committed batch."
_COORDINATOR = (
    "the broker's log has the reason: often transaction.state.log.replication.factor exceeds the "
    "number of brokers. Kafka(delivery='at-least-once') needs no transactions."
)


class Publisher:
    """Publishes the batches of one query, each once, in order; one thread at a time.

    The transaction with a batch's results also commits the batch's number as an offset of a group,
    so the cluster knows which batches were published. Opening a producer with the same
    transactional id fences the producers of older drivers and ends their open transactions; their
    commits are visible in the group. After any failure the publisher opens another producer and
    reads the group, exactly as the next driver would after a crash.

    Args:
        connection: The cluster; its `producer` options override the defaults.
        name: Id of the query's batches, used as the transactional id and as the group.
        patience: Time limit for retries while the cluster is unavailable.
    """

    def __init__(
        self, connection: Kafka, name: str, *, patience: timedelta = timedelta(seconds=60)
    ) -> None:
        options = connection.client_options("producer")
        self._timeout_ms = timeout = _timeout_ms(options)
        # Else librdkafka refuses the two together.
        waits = {"message.timeout.ms": str(min(timeout, _DEFAULT_TIMEOUT_MS))}
        self._options = ClientOptions(
            {**_DEFAULTS, _TIMEOUT: str(timeout), **waits, **options, "transactional.id": name}
        )
        self._connection = connection
        self._name = name
        self._patience_s = patience.total_seconds()
        self._batch_bytes = BATCH_BYTES
        self._producer: TableProducer | None = None
        self._next: int | None = None
        self._topics: set[str] = set()
        self._lock = Lock()
        self._admin = KafkaAdmin(connection.client_options("admin"), timeout=patience)

    def prepare(self, topic: str, following: int) -> None:
        """Fence older drivers, and store the next batch's number in the cluster if it is missing.

        Args:
            topic: An existing topic, for the group's offset.
            following: The next batch to publish, if the cluster does not know it.

        Raises:
            TransactionError: The cluster does not support transactions, or not with this time
                limit.
            BrokerUnavailableError: No broker answers.
            KafkaOptionsError: librdkafka does not know an option or its value.
        """
        with self._lock:
            self._know(topic)
            self._open()
            if self._next is None:
                self._repeat(topic, following - 1, tuple, lambda: None)

    def publish(
        self,
        topic: str,
        batch: int,
        read: Callable[[], Iterable[pa.Table]],
        check: Callable[[], None],
    ) -> bool:
        """Publish a batch, unless it was published before.

        Args:
            topic: An existing topic, as for `prepare`.
            batch: The batch's number.
            read: Returns the batch's rows, as returned by `staged_rows.to_table`; may be called
                again.
            check: Raises `FencedError` if a newer driver runs the app.

        Returns:
            Whether this call has published the batch.

        Raises:
            FencedError: A newer driver runs the app.
            TransactionTimeoutError: Publishing takes longer than a transaction may.
            TransactionError: It is unknown whether the batch was published, or the cluster refuses
                the transaction.
            RecordRefusedError, UnknownTopicError: A topic no longer accepts a record.
            BrokerUnavailableError: No broker answers.
        """
        with self._lock:
            self._know(topic)
            self._open()
            if self._next is None:
                raise self._unknown(topic, batch)
            if self._next > batch:
                return False
            return self._repeat(topic, batch, read, check)

    def close(self) -> None:
        """Close the producer, unless a batch is still being published after two seconds."""
        if self._lock.acquire(timeout=_LAST_STEP_S):
            try:
                self._abandon()
            finally:
                self._lock.release()

    def _abandon(self) -> None:
        """Close the producer; its uncommitted transaction is aborted."""
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(KafkaException):
                producer.transactions().abort(_LAST_STEP_S)
            producer.abandon()

    # ------------------------------------------------------------ one batch

    def _repeat(
        self,
        topic: str,
        batch: int,
        read: Callable[[], Iterable[pa.Table]],
        check: Callable[[], None],
    ) -> bool:
        """Publish a batch; retry failures with a new producer.

        Returns False if the batch had already been published.
        """
        for left in reversed(range(_ATTEMPTS)):
            began = time.monotonic()
            try:
                producer = self._open()
                if self._next is not None and self._next > batch:
                    return False
                self._transact(producer, topic, batch, read())
                self._next = batch + 1
                return True
            except _SmallerBatchError:
                self._abandon()
            except (DeliveryError, TransactionError) as exc:
                self._abandon()
                check()
                lasted_ms = (time.monotonic() - began) * 1000
                if lasted_ms >= self._timeout_ms:
                    raise self._too_long(batch, exc) from None
                if not left:
                    raise self._given_up(exc) from None
                _LOG.warning("batch %d is published again: %s", batch, exc.message)
            except BaseException:
                self._abandon()
                raise
        raise TransactionError(f"batch {batch} was not published after several attempts", hint=_FIX)

    def _transact(
        self, producer: TableProducer, topic: str, batch: int, tables: Iterable[pa.Table]
    ) -> None:
        steps = producer.transactions()
        self._step(steps.begin)
        written: set[tuple[str, int]] = set()
        try:
            for table in tables:
                self._fit(table)
                producer.send(from_table(table))
                written |= places(table)
            producer.flush()
        except DeliveryError as exc:
            raise self._fatal(steps) or exc from None
        except KStreamsError as exc:
            exc.hint = exc.hint or _FIX
            raise
        self._step(lambda: steps.add_offset(self._name, topic, 0, batch + 1, _STEP_S))
        self._step(lambda: steps.commit(_STEP_S))
        self._await(written)

    def _await(self, written: Iterable[tuple[str, int]]) -> None:
        """Wait until `read_committed` readers can read the committed records.

        If open transactions of other producers hide the records for long, stop waiting.
        """
        ends = self._admin.ends_of(written, committed=False)
        deadline = time.monotonic() + _SEEN_S
        while waiting := [
            place
            for place, seen in self._admin.ends_of(ends, committed=True).items()
            if seen < ends[place]
        ]:
            if time.monotonic() > deadline:
                _LOG.info("open transactions of others hide results in %s", waiting)
                return
            time.sleep(_POLL_S)
            ends = {place: ends[place] for place in waiting}

    def _fit(self, table: pa.Table) -> None:
        """Raise `_SmallerBatchError` if the producer's batches are larger than a topic accepts."""
        names = table.column("topic").unique().to_pylist()
        least = min(topic_limits(self._connection, name).max_bytes or BATCH_BYTES for name in names)
        if least < self._batch_bytes:
            self._batch_bytes = least
            raise _SmallerBatchError

    # ------------------------------------------------------------ producers

    def _know(self, topic: str) -> None:
        """Add a topic for which the group may have an offset."""
        if topic not in self._topics:
            self._topics.add(topic)
            if self._producer is not None:
                self._next = self._next_batch_number()

    def _open(self) -> TableProducer:
        """Return the producer; a new producer first reads the next batch's number."""
        if self._producer is not None:
            return self._producer
        size = self._batch_bytes if self._batch_bytes < BATCH_BYTES else None
        compiled = self._connection.compiled
        producer = self._producer = open_producer(self._options, size, compiled=compiled)
        try:
            steps = producer.transactions()
            self._step(lambda: steps.init(_STEP_S))
            self._next = self._next_batch_number()
        except BaseException:
            self._abandon()
            raise
        return producer

    def _next_batch_number(self) -> int | None:
        """Return the number of the next batch from the cluster; None if the cluster lacks it."""
        patience = timedelta(seconds=self._patience_s)
        return group_offset(self._connection, self._name, self._topics, patience=patience)

    def _step(self, step: Callable[[], None]) -> None:
        """Run a step of a transaction; retry it if librdkafka allows it."""
        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                return step()
            except KafkaException as exc:
                error = exc.args[0]
                if not error.retriable() or time.monotonic() > deadline:
                    raise self._failure(error) from None  # the cause could show a secret

    def _fatal(self, steps: Transactions) -> KStreamsError | None:
        """Return the producer's fatal error, the cause of failed records; None without one."""
        try:
            steps.begin()
        except KafkaException as exc:
            if exc.args[0].fatal():
                return self._failure(exc.args[0])
        return None

    def _failure(self, error: KafkaError) -> KStreamsError:
        code, reason = error.name(), self._options.scrub(error.str())
        bootstrap = self._options["bootstrap.servers"]
        if code == _REFUSED:
            return TransactionTimeoutError(
                f"the cluster at {bootstrap} does not allow transactions of "
                f"{self._timeout_ms / 1000:g} s: {reason}",
                code,
                hint=f"lower {_TIMEOUT} in Kafka(producer=...), or raise the brokers' "
                "transaction.max.timeout.ms.",
            )
        hint = _FIX
        if error.retriable():
            self._admin.topics()  # says it if no broker answers
            hint = _COORDINATOR
        elif error.code() == KafkaError._INVALID_ARG:
            return KafkaOptionsError(f"Kafka producer options are refused: {reason}")
        return TransactionError(
            f"the cluster at {bootstrap} rejects a transaction: {reason}", code, hint=hint
        )

    def _too_long(self, batch: int, exc: DeliveryError | TransactionError) -> KStreamsError:
        return TransactionTimeoutError(
            f"batch {batch} was not published within {self._timeout_ms / 1000:g} s, the time limit "
            f"of a transaction: {exc.message}",
            exc.code,
            hint=f"raise {_TIMEOUT} in Kafka(producer=...), or lower max_records_per_batch; the "
            "next start publishes the batch.",
        )

    def _given_up(self, exc: DeliveryError | TransactionError) -> KStreamsError:
        if exc.code in _FENCED:
            return FencedError(
                f"another producer has the transactional id {self._name!r}: {exc.message}",
                hint="two apps run on one checkpoint; stop one of them.",
            )
        return exc

    def _unknown(self, topic: str, batch: int) -> TransactionError:
        return TransactionError(
            f"it is not known whether batch {batch} was published: the consumer group "
            f"{self._name!r}, whose offset was the number of the next batch, does not exist any "
            "more (offsets.retention.minutes)",
            hint=f"check whether the output topics have results of batch {batch}; then set the "
            f"group's offset of partition 0 of topic {topic!r}: {batch + 1} if they have results, "
            f"{batch} if not.",
        )


class _SmallerBatchError(Exception):
    """A topic only accepts batches that are smaller than those of the producer."""


def _timeout_ms(options: ClientOptions) -> int:
    text = options.get(_TIMEOUT, str(_DEFAULT_TIMEOUT_MS))
    if not text.isdecimal():
        raise KafkaOptionsError(
            f"{_TIMEOUT} is {text!r}, expected a number of milliseconds", option=_TIMEOUT
        )
    return int(text)
