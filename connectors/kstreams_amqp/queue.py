"""A queue as an intake."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from kstreams.intakes import Intake, LastMessage, Receiver
from kstreams_amqp.broker import Broker
from kstreams_amqp.receiver import AmqpReceiver

__all__ = ("AmqpQueue",)


@dataclass(frozen=True)
class AmqpQueue(Intake):
    """Takes messages of a queue, and acknowledges each when the topic has it.

    A message's id is its property `message-id`: publishers give it, such as `AmqpExchange`. Without
    one, a message that comes again after a death is written again. Its time is the property
    `timestamp`; its headers become those of the record, texts as UTF-8, other values as JSON. What
    else is known of it is in headers `amqp-routing-key`, `amqp-exchange`, `amqp-content-type`,
    `amqp-correlation-id`, `amqp-reply-to` and `amqp-type`.

    What is rejected goes where the queue's dead-letter exchange says, or is gone if it has none;
    `DeadLetter(topic)` keeps it in a topic. What is given back goes to its place in the queue.

    Args:
        url: `amqp://user:password@host:port/vhost`, or `amqps://` for TLS. It shows in no text.
        queue: Its name. It has to be there, and should be durable.
        prefetch: How many messages the broker gives that are not acknowledged: so many are in
            memory at most.
        heartbeat: How often broker and client ask each other whether they are there.
        named: Its name as an intake; None for one made of the queue's.

    Raises:
        ValueError: The url is none, or a number is not positive.

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
                "an AmqpQueue needs the name of a queue, and a prefetch of 1 to 65,535"
            )

    @property
    def name(self) -> str:
        """Names it in headers of its records."""
        return self.named or f"amqp queue {self.queue}"

    def open(self, last: LastMessage | None) -> Receiver:
        """Begin to consume. The broker knows where to go on.

        Raises:
            IntakeUnavailableError: The broker does not answer.
            IntakeError: There is no such queue, or it may not be read.
        """
        return AmqpReceiver(Broker(self.url), self.queue, self.prefetch, self.heartbeat)
