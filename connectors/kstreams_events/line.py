"""One connection to a server that sends messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from kstreams.processors import Headers

__all__ = ("Line", "Message")


@dataclass(frozen=True)
class Message:
    """A message as it came.

    Attributes:
        value: Its body.
        id: Its own; None if it has none.
        headers: What else it says.
    """

    value: bytes
    id: str | None = None
    headers: Headers = ()


class Line(Protocol):
    """A connection that is open."""

    def messages(self) -> Iterator[Message]:
        """Yield messages until the server ends it.

        Raises:
            IntakeUnavailableError: The connection is lost.
            IntakeError: What comes is none of the protocol.
        """
        ...

    def close(self) -> None:
        """End it; from another thread, too: `messages` ends then, or raises."""
        ...
