"""Reads of topics for requests: beside the event loop, a few at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kstreams.connection import Connection
from kstreams_serve.restoring import Restoring

__all__ = ("TopicReads",)

T = TypeVar("T")
"""What is read."""

_THREADS = 2
_LINE = 16
_SECONDS = 10.0


class TopicReads:
    """Reads topics for requests; who asks for what is being read waits for the same.

    Args:
        connection: Where they are.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._work = Restoring(_THREADS, _LINE, _SECONDS, "the topics are slow to answer")

    async def result(self, name: object, read: Callable[[Connection], T]) -> T:
        """Return what is read.

        Args:
            name: Equal for equal reads.
            read: Called with the connection, in a thread.

        Raises:
            Problem: It takes long, or too much is being read: come again.
        """
        return await self._work.result(name, lambda: read(self._connection))

    def close(self) -> None:
        """Begin nothing any more."""
        self._work.close()
