"""The interface of a source that delivers each message once and expects it to be settled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import ClassVar

from typing_extensions import Self

from kstreams.record import Headers

__all__ = ("Delivery", "Gaps", "Intake", "LastMessage", "Receiver")


@dataclass(frozen=True)
class Delivery:
    """A received message.

    Attributes:
        value: The body.
        receipt: The receiver's id of the delivery, unique among unsettled deliveries.
        id: The source's id of the message, which is equal when it is delivered again. None without
            an id: duplicates are then not recognized.
        key: The key of the record, in bytes; None for a null key.
        timestamp: The event time, ms since the epoch; None for the time of arrival.
        headers: The headers of the record. Names that begin with `kstreams-` belong to the library,
            and are removed.
    """

    value: bytes
    receipt: int
    id: str | None = None
    key: bytes | None = None
    timestamp: int | None = None
    headers: Headers = ()


@dataclass(frozen=True)
class Gaps:
    """The periods in which messages may have been missed.

    Attributes:
        count: The number of periods.
        seconds: Their total duration.
    """

    count: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class LastMessage:
    """The position of an intake in the topic at the start of the runner.

    Attributes:
        id: The id of a message: the message and all earlier messages are in the topic; a few later
            messages may be too. None if the message had no id.
        age: The age of the intake's newest record, by its timestamp.
    """

    id: str | None
    age: timedelta


class Receiver(ABC):
    """An open source: it returns messages, and gets the outcome of each.

    One thread makes all calls. Each delivery is settled, rejected or given back, once. Closing
    gives back the remaining deliveries. The memory of a receiver is bounded for any input.
    """

    @abstractmethod
    def receive(self, limit: int, wait: timedelta) -> Sequence[Delivery]:
        """Return received messages, in order.

        Args:
            limit: The maximum number of messages.
            wait: The maximum wait for the first message, after which the result is empty.

        Raises:
            IntakeUnavailableError: The source does not answer; the runner retries for a while.
            IntakeError: The source is unsuitable for the intake.
        """

    @abstractmethod
    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Settle messages that are in the topic or in the dead-letter topic.

        The source may delete settled messages. If the connection to the source is lost, so are its
        receipts: unsettled messages are delivered again.
        """

    @abstractmethod
    def reject(self, delivery: Delivery, reason: str) -> None:
        """Reject a message permanently.

        Args:
            delivery: The message.
            reason: The reason: safe to print, and without the content of the message.
        """

    @abstractmethod
    def give_back(self, deliveries: Sequence[Delivery]) -> None:
        """Give back messages that could not be written, so that they are delivered again."""

    @abstractmethod
    def close(self) -> None:
        """Stop receiving, give back unsettled messages, and release resources. May be repeated."""

    @property
    def gaps(self) -> Gaps:
        """The periods, since the receiver was opened, in which messages may have been missed."""
        return Gaps()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class Intake(ABC):
    """The settings of a source that delivers each message once, without secrets in texts.

    `IntakeRunner` writes the messages to a topic. No connection is opened before `open`.
    `kstreams.testing.IntakeContract` tests your own intake.

    Attributes:
        name: The name in headers of records, errors and reports. Intakes that write to the same
            topic need different names. The name must be the same after a restart.
        tells_sender: Whether the sender learns that a message was rejected, and why.
    """

    tells_sender: ClassVar[bool] = False

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in headers of records; see the class."""

    @abstractmethod
    def open(self, last: LastMessage | None) -> Receiver:
        """Start to receive messages.

        Args:
            last: The position to resume at, for sources that support it; None if the topic has no
                message of the intake.

        Raises:
            IntakeUnavailableError: The source does not answer.
            IntakeError: The source is unsuitable for the intake.
        """
