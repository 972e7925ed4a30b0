"""A queue as an intake."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from typing_extensions import override

from kstreams.intakes import Intake, LastMessage, Receiver
from kstreams_amqp.broker import Broker
from kstreams_amqp.receiver import AmqpReceiver

__all__ = ("AmqpQueue",)


@dataclass(frozen=True)
class AmqpQueue(Intake):
    """Consumes messages from a queue and acknowledges each after it is written to the topic.

    A message's id is its `message-id` property, which publishers such as `AmqpExchange` set. A
    message without an id is written twice if it is redelivered after a crash. The record's time is
    the `timestamp` property. The message's headers become the record's headers: text as UTF-8,
    other values as JSON. The other properties are in the headers `amqp-routing-key`,
    `amqp-exchange`, `amqp-content-type`, `amqp-correlation-id`, `amqp-reply-to` and `amqp-type`.

    A rejected message goes to the queue's dead-letter exchange, or is deleted if the queue has
    none; `DeadLetter(topic)` keeps it in a topic. A message that is given back unprocessed returns
    to its place in the queue.

    Args:
        url: `amqp://user:password@host:port/vhost`, or `amqps://` for TLS. Logs and errors do not
            show it.
        queue: The name of the queue. The queue must exist and should be durable.
        prefetch: The maximum number of unacknowledged messages, and so of messages in memory.
        heartbeat: The heartbeat interval of the connection.
        named: The name of the intake; None derives it from the queue's name.

    Raises:
        ValueError: The URL is invalid, or a number is not positive.

    Source: AMQP 0-9-1's `basic.consume` with explicit acknowledgements.
    """

    url: str = field(repr=False)
    queue: str
    prefetch: int = field(default=500, repr=False)
    heartbeat: timedelta = field(default=timedelta(seconds=30), repr=False)
    named: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        Broker(self.url)
        if not self.queue or not 0 < self.prefetch < 1 << 16 or self.heartbeat < timedelta(0):
            raise ValueError(
                "expected a queue name, prefetch= of 1 to 65,535 and heartbeat= of at least 0; "
                f"got {self.queue!r}, prefetch={self.prefetch} and heartbeat={self.heartbeat}"
            )

    @property
    @override
    def name(self) -> str:
        return self.named or f"amqp queue {self.queue}"

    def open(self, last: LastMessage | None) -> Receiver:
        """Start consuming. The broker keeps the position, so `last` is not used.

        Raises:
            IntakeUnavailableError: The broker does not answer.
            IntakeError: The queue does not exist, or access to it is denied.
        """
        return AmqpReceiver(Broker(self.url), self.queue, self.prefetch, self.heartbeat)
