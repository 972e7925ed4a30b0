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
        receipt: The receiver's id of the delivery, unique among unsettled ones.
        id: The source's id of the message, which is equal when it is delivered again. None without
            an id: duplicates are then not recognized.
        key: The key of the record, in bytes; None for none.
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
    """The last message of an intake in the topic at the start of the runner.

    Attributes:
        id: The id of a message: that message and all earlier ones are in the topic, and few later
            ones. None if it had no id.
        age: The age of the newest record, by its time.
    """

    id: str | None
    age: timedelta


class Receiver(ABC):
    """An open source: it returns messages, and gets the outcome of each.

    One thread makes all calls. Each delivery is settled, rejected or given back, once. Closing
    gives back the remaining ones. The memory of a receiver is bounded for any input.
    """

    @abstractmethod
    def receive(self, limit: int, wait: timedelta) -> Sequence[Delivery]:
        """Return received messages, in order.

        Args:
            limit: The maximum number.
            wait: The maximum wait for the first message; then the result is empty.

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
        """The periods since the opening in which messages may have been missed."""
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
    """A source whose messages come once, as data: it opens nothing before `open`, shows no secret.

    `IntakeRunner` takes its messages into a topic. Prove one of your own by `IntakeContract` of
    `kstreams.testing`.

    Attributes:
        name: Names it in headers of its records, in errors and reports. Intakes that write to one
            topic have unlike names; the name stays when the process starts again.
        tells_sender: Whether the sender learns that a message was rejected, and why.
    """

    tells_sender: ClassVar[bool] = False

    @property
    @abstractmethod
    def name(self) -> str:
        """Names it in headers of its records."""

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
