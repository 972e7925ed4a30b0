"""What a source is whose messages come once, and want to be settled."""

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
    """A message that has come, as it came.

    Attributes:
        value: Its body.
        receipt: By which its receiver knows it; no other that is not settled has the same.
        id: By which its source tells it from others: equal when it comes again. None if it has
            none: then nobody sees that it came before.
        key: The record's key in bytes; None for none.
        timestamp: Event time, ms since the epoch; None for the time at which it came.
        headers: Of the record. Names that begin with `kstreams-` are left out: they are the
            library's.
    """

    value: bytes
    receipt: int
    id: str | None = None
    key: bytes | None = None
    timestamp: int | None = None
    headers: Headers = ()


@dataclass(frozen=True)
class Gaps:
    """How often, and for how long, nobody can say what has come meanwhile.

    Attributes:
        count: How often.
        seconds: How long, in sum.
    """

    count: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class LastMessage:
    """Of an intake's messages, what the topic had when the runner started.

    Attributes:
        id: Of a message: all that came before it are in the topic, it is, too, and few that came
            later are. None if it had no id.
        age: How long ago the newest record was, by its time.
    """

    id: str | None
    age: timedelta


class Receiver(ABC):
    """A source that is open: gives messages, and is told what became of each.

    One thread calls all of it. Each delivery is settled, rejected or given back, once. Closing
    gives back what is left. What it holds in memory is bounded, whatever the source sends.
    """

    @abstractmethod
    def receive(self, limit: int, wait: timedelta) -> Sequence[Delivery]:
        """Return messages that have come, in their order.

        Args:
            limit: How many at most.
            wait: For how long to wait for the first; then return none.

        Raises:
            IntakeUnavailableError: The source does not answer; it is asked again, for a while.
            IntakeError: It is not as the intake needs it.
        """

    @abstractmethod
    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Tell the source that these are in the topic, or set aside: it may forget them.

        Where the source is lost, so are its receipts: what is not settled by then comes again.
        """

    @abstractmethod
    def reject(self, delivery: Delivery, reason: str) -> None:
        """Tell the source that this one is not taken, now or later.

        Args:
            delivery: What is not taken.
            reason: Why: safe to show, and without the message's content.
        """

    @abstractmethod
    def give_back(self, deliveries: Sequence[Delivery]) -> None:
        """Tell the source that these could not be written: they should come again."""

    @abstractmethod
    def close(self) -> None:
        """Take no more, give back what is not settled, and let go. May be repeated."""

    @property
    def gaps(self) -> Gaps:
        """How often messages may have been missed, since it was opened."""
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
        """Begin to take messages.

        Args:
            last: Where to go on, for sources that can; None where the topic has none of it.

        Raises:
            IntakeUnavailableError: The source does not answer.
            IntakeError: It is not as the intake needs it.
        """
