"""Publish a task's results of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Generic, TypeVar

import pika
from pika.delivery_mode import DeliveryMode
from typing_extensions import override

from kstreams import Record
from kstreams.sinks import CommitId, Results, Writer
from kstreams_amqp.broker import Broker
from kstreams_amqp.publishing import Message, Publishing
from kstreams_rows.refusing import refused
from kstreams_rows.retrying import retried

__all__ = ("AmqpWriter", "Form")

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""

_SHORT = 255
"""The maximum bytes of a short AMQP text: routing keys, ids, names of headers."""


@dataclass(frozen=True)
class Form(Generic[K, V]):
    """The conversion of results to messages; the attributes are as for `AmqpExchange`."""

    body: Callable[[K, V], bytes | None]
    routing_key: str | Callable[[K, V], str]
    content_type: str | None
    max_bytes: int


class AmqpWriter(Writer[K, V]):
    """A `Writer` with its own connection.

    Args:
        broker: The broker to connect to.
        exchange: The name of the exchange.
        form: The conversion of results to messages.
        give_up_after: The maximum time to retry.
    """

    def __init__(
        self,
        broker: Broker,
        exchange: str,
        form: Form[K, V],
        give_up_after: timedelta,
    ) -> None:
        self._broker = broker
        self._exchange = exchange
        self._form = form
        self._give_up_after = give_up_after
        self._publishing: Publishing | None = None

    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        """Publish a batch's results, after rejecting the results that cannot be AMQP messages."""
        records = results.records()
        messages: list[Message] = []
        for row, record in enumerate(records):
            message = self._message(row, record, f"{commit}/{row}")
            if message is None:
                continue
            if why := self._fault(message, record):
                results.refuse(refused(row, record, why))
            else:
                messages.append(message)
        for message, why in self._published(messages):
            results.refuse(refused(message.row, records[message.row], why))
        return []

    @override
    def close(self) -> None:
        publishing, self._publishing = self._publishing, None
        if publishing is not None:
            publishing.close()

    def _message(self, row: int, record: Record[K, V], identity: str) -> Message | None:
        """Return the message of a result; None if the result is skipped."""
        form = self._form
        body = form.body(record.key, record.value)
        if body is None:
            return None
        if len(identity) > _SHORT:
            identity = sha256(identity.encode()).hexdigest()
        properties = pika.BasicProperties(
            content_type=form.content_type,
            delivery_mode=DeliveryMode.Persistent,
            message_id=identity,
            timestamp=record.timestamp // 1000 if record.timestamp >= 0 else None,
            headers=dict(record.headers) or None,
        )
        way = form.routing_key
        routing_key = way(record.key, record.value) if callable(way) else way
        return Message(row, routing_key, body, properties)

    def _fault(self, message: Message, record: Record[K, V]) -> str:
        """Return why a message cannot be sent by AMQP; empty if it can."""
        if len(message.body) > self._form.max_bytes:
            return (
                f"the message has {len(message.body):,} bytes, more than {self._form.max_bytes:,}"
            )
        names = [name for name, _ in record.headers]
        if len(set(names)) < len(names):
            return "two headers have the same name, which AMQP does not allow"
        for text in (message.routing_key, *names):
            try:
                size = len(text.encode())
            except UnicodeEncodeError:
                return "the routing key or the name of a header cannot be encoded as UTF-8"
            if size > _SHORT:
                return f"the routing key or the name of a header has more than {_SHORT} bytes"
        return ""

    def _published(self, messages: Sequence[Message]) -> list[tuple[Message, str]]:
        def work() -> list[tuple[Message, str]]:
            if self._publishing is None:
                self._publishing = Publishing(self._broker, self._exchange)
            return self._publishing.publish(messages)

        if not messages:
            return []
        return retried(work, self._broker.faults(), self._give_up_after, self.close)
