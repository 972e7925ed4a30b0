"""An exchange as a sink."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

from typing_extensions import override

from kstreams.sinks import CommitId, Guarantee, Sink, Writer
from kstreams_amqp.broker import FAILURES, Broker
from kstreams_amqp.publishing import Publishing
from kstreams_amqp.writer import AmqpWriter, Form

__all__ = ("AmqpExchange",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""


@dataclass(frozen=True, repr=False)
class AmqpExchange(Sink[K, V]):
    """Publishes each result as a persistent message, and waits until the broker confirms it.

    After a crash, messages may be published again, each with the same `message-id` property: the
    commit's name and the number of the result. `AmqpQueue`, and any consumer that compares ids,
    processes each message once. Messages of a key keep the order of the results. A result is
    rejected, and handled by the sink's `on_refused`, if no queue is bound to its routing key, if it
    is too large, or if its headers have no AMQP type. With `on_refused="fail"`, the messages before
    an unroutable message stay published.

    Args:
        url: `amqp://user:password@host:port/vhost`, or `amqps://` for TLS. Logs and errors do not
            show it.
        exchange: The name of the exchange; empty for the default exchange, which routes by queue
            name.
        body: Builds the message body from key and value; None skips the result.
        routing_key: The routing key of all messages, or a function of key and value.
        content_type: The `content-type` property of all messages.
        max_bytes: The maximum size of a body; the broker's `max_message_size` must be at least as
            large.
        give_up_after: The maximum time to retry while the broker does not answer or accepts no
            messages; after that the batch fails.

    Raises:
        ValueError: The URL is invalid, or a limit is not positive.

    Source: publisher confirms and mandatory messages of RabbitMQ.
    """

    url: str = field(repr=False)
    exchange: str
    body: Callable[[K, V], bytes | None]
    routing_key: str | Callable[[K, V], str] = ""
    content_type: str | None = None
    max_bytes: int = 16 * 1024 * 1024
    give_up_after: timedelta = timedelta(seconds=30)

    def __post_init__(self) -> None:
        Broker(self.url)
        if self.max_bytes < 1 or self.give_up_after <= timedelta(0):
            raise ValueError(
                f"max_bytes={self.max_bytes} and give_up_after={self.give_up_after} must be "
                "positive"
            )

    def __repr__(self) -> str:
        """Return a text without the address and the functions."""
        return f"AmqpExchange(exchange={self.exchange!r})"

    @property
    @override
    def label(self) -> str:
        return f"amqp exchange {self.exchange or '(default)'}"

    @property
    def guarantee(self) -> Guarantee:
        """At least once; a repeated message has the same id."""
        return "at-least-once"

    def prepare(self) -> None:
        """Check that the exchange exists.

        Raises:
            SinkUnavailableError: The broker does not answer.
            SinkError: The exchange does not exist, or access to it is denied.
        """
        broker = Broker(self.url)
        try:
            Publishing(broker, self.exchange).close()
        except FAILURES as exc:
            raise broker.faults().error(exc) from None

    @override
    def open(self) -> Writer[K, V]:
        form = Form(self.body, self.routing_key, self.content_type, self.max_bytes)
        return AmqpWriter(Broker(self.url), self.exchange, form, self.give_up_after)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Do nothing, because messages are visible as soon as they are written."""
