"""A connection that consumes one queue, in a thread that also answers heartbeats."""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from functools import partial

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ConsumerCancelled
from pika.spec import Basic

from kstreams_amqp.broker import FAILURES, Broker

__all__ = ("Consuming", "Received")

_POLL_S = 0.2
_CLOSE_S = 15.0

Received = tuple[Basic.Deliver, pika.BasicProperties, bytes]
"""A delivered message: its delivery method, properties and body."""


class Consuming:
    """Consume messages from a queue in a thread until closed or failed.

    Only that thread uses the connection.

    Args:
        broker: The broker to connect to.
        name: The name of the queue.
        prefetch: The maximum number of unacknowledged messages.
        heartbeat_s: The heartbeat interval of the connection, in seconds.

    Attributes:
        messages: The received messages.
        failure: The exception that ended the consumer; None while it runs.

    Raises:
        Exception: One of `FAILURES`: the broker does not answer, or the queue does not exist.
    """

    def __init__(self, broker: Broker, name: str, prefetch: int, heartbeat_s: int) -> None:
        self.messages: queue.SimpleQueue[Received] = queue.SimpleQueue()
        self.failure: Exception | None = None
        self._stop = threading.Event()
        self._connection = pika.BlockingConnection(broker.parameters(heartbeat_s))
        try:
            self._channel = self._connection.channel()
            self._channel.queue_declare(name, passive=True)
            self._channel.basic_qos(prefetch_count=prefetch)
            self._channel.add_on_cancel_callback(self._cancelled)
            self._channel.basic_consume(name, self._receive)
        except FAILURES:
            self._close_connection()
            raise
        self._thread = threading.Thread(target=self._run, name="kstreams-amqp", daemon=True)
        self._thread.start()

    def schedule(self, what: str, tags: list[int], **options: bool) -> None:
        """Schedule acknowledgements or rejections of deliveries.

        They are sent by the connection's thread, and lost if the connection is lost first.

        Args:
            what: The channel's method: `basic_ack` or `basic_reject`.
            tags: The delivery tags.
            options: Options of the method, such as `requeue`.
        """
        with suppress(*FAILURES):
            self._connection.add_callback_threadsafe(
                partial(self._call_channel, what, tags, options)
            )

    def close(self) -> None:
        """Send the pending acknowledgements and close the connection."""
        self._stop.set()
        with suppress(*FAILURES):
            self._connection.add_callback_threadsafe(lambda: None)  # wakes it
        self._thread.join(_CLOSE_S)

    # ------------------------------------------------------------ in the thread

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._connection.process_data_events(_POLL_S)  # pyright: ignore[reportArgumentType]  # it takes parts of a second
                if self.failure is not None:
                    break
            self._connection.process_data_events(time_limit=0)  # the pending acknowledgements
        except Exception as exc:  # noqa: BLE001  # the next `receive` raises it
            self.failure = exc
        finally:
            self._close_connection()

    def _close_connection(self) -> None:
        with suppress(*FAILURES):
            self._connection.close()

    def _receive(
        self,
        _: BlockingChannel,
        method: Basic.Deliver,
        properties: pika.BasicProperties,
        body: bytes,
    ) -> None:
        self.messages.put((method, properties, body))

    def _cancelled(self, _: object) -> None:
        self.failure = ConsumerCancelled("the queue was deleted, or moved")

    def _call_channel(self, what: str, tags: list[int], options: dict[str, bool]) -> None:
        try:
            for tag in tags:
                getattr(self._channel, what)(tag, **options)
        except FAILURES as exc:  # they come again
            self.failure = exc
