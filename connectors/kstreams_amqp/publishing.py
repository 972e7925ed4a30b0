"""A connection that publishes many messages at once, and waits until all are confirmed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import pika
from pika.adapters.select_connection import SelectConnection
from pika.channel import Channel
from pika.exceptions import AMQPConnectionError
from pika.frame import Method
from pika.spec import Basic, Confirm

from kstreams_amqp.broker import FAILURES, Broker

__all__ = ("Message", "Publishing")

_OPEN_S = 15.0
_CONFIRM_S = 30.0
_MOST_UNDER_WAY = 1_000


@dataclass(frozen=True)
class Message:
    """A message and its position in the batch.

    Attributes:
        row: The number of the result.
        routing_key: The routing key.
        body: The body.
        properties: The properties, including the message id.
    """

    row: int
    routing_key: str
    body: bytes
    properties: pika.BasicProperties


class Publishing:
    """A channel in confirm mode; each method runs the connection's event loop until it returns.

    Args:
        broker: The broker to connect to.
        exchange: The name of the exchange; empty for the default exchange.

    Raises:
        Exception: One of `FAILURES`: the broker does not answer, or the exchange does not exist.
    """

    def __init__(self, broker: Broker, exchange: str) -> None:
        self._exchange = exchange
        self._failure: Exception | None = None
        self._ready = False
        self._channel: Channel | None = None
        self._numbers = 0
        self._under_way: dict[int, Message] = {}
        self._returned: dict[str | None, str] = {}
        self._nacked = False
        self._connection = SelectConnection(
            broker.parameters(0),  # no thread answers heartbeats between batches
            on_open_callback=self._opened,
            on_open_error_callback=self._failed,
            on_close_callback=self._failed,
        )
        self._run(_OPEN_S)
        if not self._ready:
            self.close()
            raise self._why(f"no channel was opened within {_OPEN_S:.0f} s")

    def publish(self, messages: Sequence[Message]) -> list[tuple[Message, str]]:
        """Publish messages in order and wait until the broker confirms them.

        Returns:
            The messages that were not routed to a queue, with the reason.

        Raises:
            Exception: One of `FAILURES`: it is unknown whether some messages were published.
        """
        refused: list[tuple[Message, str]] = []
        for start in range(0, len(messages), _MOST_UNDER_WAY):
            refused += self._confirmed(messages[start : start + _MOST_UNDER_WAY])
        return refused

    def close(self) -> None:
        """Close the connection."""
        with suppress(*FAILURES):
            if not (self._connection.is_closing or self._connection.is_closed):
                self._connection.close()
                self._run(_OPEN_S)
        with suppress(*FAILURES):
            self._connection.ioloop.close()

    def _why(self, otherwise: str) -> Exception:
        return self._failure or AMQPConnectionError(otherwise)

    def _confirmed(self, messages: Sequence[Message]) -> list[tuple[Message, str]]:
        channel = self._channel
        if self._failure is not None or channel is None:
            raise self._why("the channel is closed")
        self._nacked = False
        self._returned.clear()
        for message in messages:
            self._numbers += 1
            self._under_way[self._numbers] = message
            channel.basic_publish(
                self._exchange,
                message.routing_key,
                message.body,
                message.properties,
                mandatory=True,
            )
        self._run(_CONFIRM_S)
        if self._under_way or self._nacked:
            raise self._why("the broker did not confirm all messages")
        return [
            (message, self._returned[message.properties.message_id])
            for message in messages
            if message.properties.message_id in self._returned
        ]

    # ------------------------------------------------------------ the loop

    def _run(self, seconds: float) -> None:
        """Run the event loop of the connection until stopped, at most this number of seconds."""
        loop = self._connection.ioloop
        timer = loop.call_later(seconds, loop.stop)
        loop.start()
        loop.remove_timeout(timer)

    def _failed(self, _: object, reason: Exception | str) -> None:
        found = reason if isinstance(reason, Exception) else AMQPConnectionError(reason)
        self._failure = self._failure or found
        self._channel = None
        self._connection.ioloop.stop()

    def _opened(self, connection: SelectConnection) -> None:
        connection.channel(on_open_callback=self._channel_opened)

    def _channel_opened(self, channel: Channel) -> None:
        self._channel = channel
        channel.add_on_close_callback(self._failed)
        channel.add_on_return_callback(self._on_return)
        if self._exchange:
            channel.exchange_declare(self._exchange, passive=True, callback=self._declared)
        else:
            self._declared(None)

    def _declared(self, _: object) -> None:
        if self._channel is not None:
            self._channel.confirm_delivery(self._settled, callback=self._confirming)

    def _confirming(self, _: Method[Confirm.SelectOk]) -> None:
        self._ready = True
        self._connection.ioloop.stop()

    def _on_return(
        self, _: Channel, method: Basic.Return, properties: pika.BasicProperties, __: bytes
    ) -> None:
        self._returned[properties.message_id] = f"{method.reply_code} {method.reply_text}"

    def _settled(self, frame: Method[Basic.Ack | Basic.Nack]) -> None:
        method = frame.method
        tag = method.delivery_tag
        done = [tag] if not method.multiple else [each for each in self._under_way if each <= tag]
        for each in done:
            self._under_way.pop(each, None)
        self._nacked = self._nacked or isinstance(method, Basic.Nack)
        if not self._under_way:
            self._connection.ioloop.stop()
