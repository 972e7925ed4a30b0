"""A stream of a broker, accessed by a separate client."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pika

from kstreams import NONE, TEXT
from kstreams_rabbitmq import RabbitStream, RabbitStreamLog
from kstreams_rabbitmq.address import Address
from kstreams_rabbitmq.messages import written
from kstreams_rabbitmq.publishing import publish
from kstreams_rabbitmq.session import Session

__all__ = ("Place", "rows", "shown_late")

ALL = 1 << 60


@dataclass
class Place:
    """A stream of a broker."""

    url: str
    amqp_url: str
    stream: str = field(default_factory=lambda: f"s-{uuid4().hex[:12]}")

    def __post_init__(self) -> None:
        self.make()

    def make(self, **arguments: Any) -> None:
        """Create the stream again, with these arguments."""
        about = {"x-queue-type": "stream"} | {n.replace("_", "-"): v for n, v in arguments.items()}

        def work(channel: Any) -> None:
            channel.queue_delete(self.stream)
            channel.queue_declare(self.stream, durable=True, arguments=about)

        self.act(work)

    def bind(self, *others: Place) -> str:
        """Make a super stream of this stream and others; return its name."""
        name = f"all-of-{self.stream}"

        def work(channel: Any) -> None:
            about = {"x-super-stream": True}
            channel.exchange_declare(name, "direct", durable=True, arguments=about)
            for number, part in enumerate((self, *others)):
                order = {"x-stream-partition-order": number}
                channel.queue_bind(part.stream, name, str(number), arguments=order)

        self.act(work)
        return name

    def log(self, **given: Any) -> RabbitStreamLog[Any, Any]:
        known: dict[str, Any] = {"name": "orders", "stream": self.stream, "key": NONE}
        return RabbitStreamLog(self.url, **(known | {"value": TEXT} | given))

    def sink(self, **given: Any) -> RabbitStream[str, int]:
        """Return a sink that writes keys and values as text; values of 1,000 and more are too
        large.
        """
        known: dict[str, Any] = {"stream": self.stream, "body": _body, "max_bytes": 80}
        return RabbitStream(self.url, **(known | given))

    def act(self, work: Callable[[Any], Any]) -> Any:
        """Call a function with a channel of AMQP 0-9-1."""
        with closing(pika.BlockingConnection(pika.URLParameters(self.amqp_url))) as connection:
            return work(connection.channel())

    def add(self, *bodies: bytes, to: str = "") -> None:
        """Publish messages; they are in the stream when it returns."""
        with closing(Session(Address.of(self.url), to or self.stream)) as session:
            publish(session, to or self.stream, [(n, written(b, ())) for n, b in enumerate(bodies)])

    def add_by_amqp(self, body: bytes, headers: Mapping[str, object]) -> None:
        """Publish a message as a client of queues does."""

        def work(channel: Any) -> None:
            channel.confirm_delivery()
            channel.basic_publish("", self.stream, body, pika.BasicProperties(headers=headers))

        self.act(work)

    def seen(self) -> list[tuple[str, int]]:
        """Return keys and values in the stream."""
        pairs = [row["value"].decode().split("=") for row in rows(self.log())]
        return [(key, int(value)) for key, value in pairs]


def rows(log: RabbitStreamLog[Any, Any], start: int | None = None) -> list[dict[str, Any]]:
    """Return the records of a stream from an offset on."""
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        _ = contents.log_id
        stop = contents.ends()[0]
        begin = contents.beginnings()[0] if start is None else start
        return [
            row
            for piece in contents.pieces(0, begin, stop)
            for row in reader.read(piece, max_bytes=ALL).to_pylist()
        ]


def shown_late(most: int, looks: int) -> Callable[..., Iterator[Any]]:
    """Return a replacement of `chunks` that shows only chunks below an offset for a number of
    calls.
    """
    real, left = Session.chunks, iter(range(looks))

    def chunks(self: Session, *given: Any, **options: Any) -> Iterator[Any]:
        is_ready = next(left, None) is None
        with closing(real(self, *given, **options)) as found:
            yield from (each for each in found if is_ready or each.chunk_first_offset < most)

    return chunks


def _body(key: str, value: int) -> bytes:
    return f"{key}={value}{' ' * (100 if value >= 1000 else 0)}".encode()
