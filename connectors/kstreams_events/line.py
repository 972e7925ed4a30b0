"""One connection to a server that sends messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from kstreams.processors import Headers

__all__ = ("Line", "Message")


@dataclass(frozen=True)
class Message:
    """A received message.

    Attributes:
        value: The body.
        id: The message's id; None if it has none.
        headers: The headers.
    """

    value: bytes
    id: str | None = None
    headers: Headers = ()


class Line(Protocol):
    """An open connection that receives messages."""

    def messages(self) -> Iterator[Message]:
        """Yield messages until the server closes the connection.

        Raises:
            IntakeUnavailableError: The connection is lost.
            IntakeError: The server violates the protocol.
        """
        ...

    def close(self) -> None:
        """Close the connection, from any thread; `messages` then ends or raises an error."""
        ...
