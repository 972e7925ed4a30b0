"""A receiver of an AMQP queue that acknowledges settled messages and reconnects."""

from __future__ import annotations

import queue
from collections.abc import Sequence
from datetime import timedelta

from typing_extensions import override

from kstreams.intakes import Delivery, Receiver
from kstreams_amqp.broker import FAILURES, Broker
from kstreams_amqp.consuming import Consuming
from kstreams_amqp.messages import delivery_of

__all__ = ("AmqpReceiver",)


class AmqpReceiver(Receiver):
    """A receiver of messages of one queue.

    Args:
        broker: The broker to connect to.
        name: The name of the queue.
        prefetch: The maximum number of unacknowledged messages.
        heartbeat: The heartbeat interval of the connection.

    Raises:
        IntakeUnavailableError: The broker does not answer.
        IntakeError: The queue does not exist, or access to it is denied.
    """

    def __init__(self, broker: Broker, name: str, prefetch: int, heartbeat: timedelta) -> None:
        self._broker = broker
        self._name = name
        self._prefetch = prefetch
        self._heartbeat_s = int(heartbeat.total_seconds())
        self._receipts = 0
        self._tags: dict[int, int] = {}
        self._consuming: Consuming | None = None
        self._open()

    @override
    def receive(self, limit: int, wait: timedelta) -> Sequence[Delivery]:
        consuming = self._consuming or self._open()
        found: list[Delivery] = []
        try:
            received = consuming.messages.get(timeout=wait.total_seconds())
            while True:
                self._receipts += 1
                found.append(delivery_of(self._receipts, *received))
                self._tags[self._receipts] = received[0].delivery_tag
                if len(found) >= limit:
                    break
                received = consuming.messages.get_nowait()
        except queue.Empty:
            pass
        if not found and consuming.failure is not None:
            failure = consuming.failure
            self._lose()
            raise self._broker.intake_error(failure) from None
        return found

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge the deliveries."""
        self._settle("basic_ack", deliveries)

    def reject(self, delivery: Delivery, reason: str) -> None:
        """Reject a delivery to the dead-letter exchange of the queue; AMQP carries no reason."""
        self._settle("basic_reject", [delivery], requeue=False)

    def give_back(self, deliveries: Sequence[Delivery]) -> None:
        """Reject the deliveries so that the queue delivers them again."""
        self._settle("basic_reject", deliveries, requeue=True)

    def close(self) -> None:
        """Send the pending acknowledgements and close.

        The broker delivers unacknowledged messages to other consumers.
        """
        self._lose()

    def _open(self) -> Consuming:
        try:
            found = Consuming(self._broker, self._name, self._prefetch, self._heartbeat_s)
        except FAILURES as exc:
            raise self._broker.intake_error(exc) from None
        self._consuming = found
        return found

    def _lose(self) -> None:
        consuming, self._consuming = self._consuming, None
        self._tags.clear()  # those of another connection mean nothing there
        if consuming is not None:
            consuming.close()

    def _settle(self, what: str, deliveries: Sequence[Delivery], **options: bool) -> None:
        known = [self._tags.pop(each.receipt, None) for each in deliveries]
        tags = [tag for tag in known if tag is not None]
        if self._consuming is not None and tags:
            self._consuming.schedule(what, tags, **options)
