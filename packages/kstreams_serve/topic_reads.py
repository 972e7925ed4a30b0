"""Reads of topics for requests: in threads, a few at the same time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kstreams.connection import Connection
from kstreams_serve.restoring import Restoring

__all__ = ("TopicReads",)

T = TypeVar("T")
"""The result type of a read."""

_THREADS = 2
_LINE = 16
_SECONDS = 10.0


class TopicReads:
    """Reads topics for requests; requests for a running read share its result.

    Args:
        connection: The connection of the topics.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._work = Restoring(_THREADS, _LINE, _SECONDS, "the topics did not respond in time")

    async def result(self, name: object, read: Callable[[Connection], T]) -> T:
        """Return the result of a read.

        Args:
            name: Identifies the read: calls with equal names share one run.
            read: Called with the connection, in a thread.

        Raises:
            Problem: The read takes long, or too many reads are running; the client should retry.
        """
        return await self._work.result(name, lambda: read(self._connection))

    def close(self) -> None:
        """Start no more reads."""
        self._work.close()
