"""A queue of a broker, accessed by a separate client."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pika

from kstreams import BYTES, Embedded, Topic
from kstreams.intakes import IntakeReport, IntakeRunner
from kstreams_amqp import AmqpExchange, AmqpQueue

__all__ = ("RAW", "SOON", "Place", "run")

RAW = Topic("raw", key=BYTES, value=BYTES, null_keys="pass")
SOON = timedelta(seconds=1)


@dataclass
class Place:
    """A durable queue."""

    url: str
    queue: str = field(default_factory=lambda: f"q-{uuid4().hex[:12]}")

    def __post_init__(self) -> None:
        self.act(lambda channel: channel.queue_declare(self.queue, durable=True))

    def intake(self, **given: Any) -> AmqpQueue:
        return AmqpQueue(self.url, self.queue, **given)

    def exchange(self, **given: Any) -> AmqpExchange[str, int]:
        """Return a sink of `key=value` messages; it refuses values from 1,000 on as too large."""
        known: dict[str, Any] = {
            "body": _body,
            "routing_key": self.queue,
            "max_bytes": 50,
            "give_up_after": SOON,
        }
        return AmqpExchange(self.url, "", **(known | given))

    def act(self, work: Callable[[Any], Any]) -> Any:
        """Call a function with a new channel."""
        with closing(pika.BlockingConnection(pika.URLParameters(self.url))) as connection:
            return work(connection.channel())

    def publish(self, *messages: tuple[str | None, bytes], **properties: Any) -> None:
        """Publish messages with ids and bodies; they are on the disk when it returns."""

        def work(channel: Any) -> None:
            channel.confirm_delivery()
            for identity, body in messages:
                about = pika.BasicProperties(message_id=identity, delivery_mode=2, **properties)
                channel.basic_publish("", self.queue, body, about, mandatory=True)

        self.act(work)

    def messages(self) -> list[tuple[pika.BasicProperties, bytes]]:
        """Return the messages in the queue, and leave them there."""

        def work(channel: Any) -> list[tuple[pika.BasicProperties, bytes]]:
            found = []
            while (got := channel.basic_get(self.queue))[0] is not None:
                found.append(got[1:])
            return found

        found: list[tuple[pika.BasicProperties, bytes]] = self.act(work)
        return found

    def seen(self) -> list[tuple[str, int]]:
        """Return the results seen by a consumer that removes duplicate ids."""
        once = {properties.message_id: body for properties, body in self.messages()}
        pairs = [body.decode().split("=") for body in once.values()]
        return [(key, int(value)) for key, value in pairs]


def run(
    intake: AmqpQueue, topics: Embedded, done: Callable[[IntakeReport], bool], **given: Any
) -> IntakeReport:
    """Run until a condition on the report holds."""

    def look(report: IntakeReport) -> None:
        if done(report):
            runner.stop()

    runner = IntakeRunner(intake, RAW, topics, on_report=look, **given)
    return runner.run(timeout=timedelta(seconds=60))


def _body(key: str, value: int) -> bytes:
    return f"{key}={value}{' ' * (100 if value >= 1000 else 0)}".encode()
