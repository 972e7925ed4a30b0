"""Consumers of a connection, with manual assignment and typed errors."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from kstreams.errors import (
    BrokerUnavailableError,
    DataLossError,
    KafkaOptionsError,
    KafkaRequestError,
    UnknownTopicError,
    Where,
)
from kstreams_kafka.client_log import ClientLog
from kstreams_kafka.client_options import ClientOptions
from kstreams_kafka.librdkafka import Consumer, KafkaError, KafkaException
from kstreams_kafka.native.library import library
from kstreams_kafka.native.table_consumer import NativeTableConsumer
from kstreams_kafka.table_consumer import ClientTableConsumer, TableConsumer

__all__ = ("Consumers",)

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


class Consumers:
    """Opens consumers; by default they skip records of open and aborted transactions.

    Args:
        options: Options of a consumer; they override `tuning`.
        tuning: Options of librdkafka.
        lost: The hint for the user when records are lost.
    """

    def __init__(
        self, options: ClientOptions, *, tuning: Mapping[str, Any] | None = None, lost: str
    ) -> None:
        self._options = options
        self._tuning = dict(tuning or {})
        self._lost = lost
        self._client_errors: deque[KafkaError] = deque(maxlen=1)

    def open(self) -> Consumer:
        """Open a consumer that has no partition yet.

        Raises:
            KafkaOptionsError: librdkafka does not know an option or its value.
        """
        given = {**self._given, "error_cb": self._client_errors.append}
        try:
            return Consumer(given, logger=ClientLog(self._options))
        except KafkaException as exc:
            raise self._refusal(exc) from None  # the cause could show a secret

    def open_tables(self, *, compiled: bool | None = None) -> TableConsumer:
        """Open a consumer that returns tables.

        Args:
            compiled: As for `Kafka`.

        Raises:
            KafkaOptionsError: librdkafka does not know an option or its value.
            ImportError: The compiled loops are required, but not available.
        """
        found = library(compiled)
        if found is None:
            return ClientTableConsumer(self.open())
        options, log = ClientOptions(self._given), ClientLog(self._options)
        try:
            return NativeTableConsumer(found, options, client_errors=self._client_errors, log=log)
        except KafkaException as exc:
            raise self._refusal(exc) from None  # the cause could show a secret

    @property
    def _given(self) -> dict[str, Any]:
        return {**_DEFAULTS, **self._tuning, **self._options, **_FIXED}

    def _refusal(self, exc: KafkaException) -> KafkaOptionsError:
        return KafkaOptionsError(
            f"Kafka consumer options are refused: {self._options.scrub(exc.args[0].str())}",
            hint="use the names and values of librdkafka's CONFIGURATION.md.",
        )

    def failure(self, error: KafkaError, where: Where) -> Exception:
        """Return the typed error for an error of librdkafka."""
        reason = self._options.scrub(error.str())
        match error.code():
            case KafkaError.UNKNOWN_TOPIC_OR_PART | KafkaError._UNKNOWN_PARTITION:
                return UnknownTopicError(
                    f"the topic or partition does not exist any more: {reason}", where=where
                )
            case KafkaError._AUTO_OFFSET_RESET | KafkaError.OFFSET_OUT_OF_RANGE:
                return DataLossError(
                    f"records were deleted before they were read: {reason}",
                    hint=self._lost,
                    where=where,
                )
            case KafkaError._TRANSPORT | KafkaError._TIMED_OUT | KafkaError._ALL_BROKERS_DOWN:
                return self.silence(reason)
        return KafkaRequestError(
            f"Kafka refused the read: {reason}", code=error.name(), where=where
        )

    def silence(self, reason: str, where: Where | None = None) -> Exception:
        """Return the error for records that did not arrive, with the client's last error."""
        last = self._client_errors[0] if self._client_errors else None
        if last is not None and last.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return self.failure(last, where or Where())
        client_text = "" if last is None else self._options.scrub(last.str())
        bootstrap = self._options["bootstrap.servers"]
        return BrokerUnavailableError(
            bootstrap, f"{reason}; {client_text}" if client_text else reason
        )
