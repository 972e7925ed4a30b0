"""A connection on which an answer's head leaves together with the beginning of its body."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

__all__ = ("WholeWrites",)


class WholeWrites(asyncio.Transport):
    """A transport that holds a write back for the next one, until the event loop goes on.

    Uvicorn writes the head of an answer and its body one after another. As two packets they wake
    a client twice, the first time for nothing it can use, and cost two calls of the system.

    Args:
        inner: The transport that writes.
        loop: The event loop.
        linger_seconds: Maximum time that a closed connection may take to send the rest of an
            answer, in seconds. A client that reads nothing would keep it open otherwise.
    """

    def __init__(
        self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop, linger_seconds: float
    ) -> None:
        super().__init__()
        self._inner = inner
        self._loop = loop
        self._linger_seconds = linger_seconds
        self._held: bytes | bytearray | memoryview = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write, together with what is held; or hold it, where that is nothing."""
        if self._held:
            self.writelines((data,))
        elif data:
            self._held = data
            self._loop.call_soon(self._flush)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """Write what is held, and all of this."""
        held, self._held = self._held, b""
        self._inner.writelines([held, *list_of_data])

    def _flush(self) -> None:
        if self._held:
            self.writelines(())

    def close(self) -> None:
        """Close it, once all is written, or after the time to linger."""
        self._flush()
        if self._inner.is_closing():
            return
        if self._inner.get_write_buffer_size():
            self._loop.call_later(self._linger_seconds, self._inner.abort)
        self._inner.close()

    def abort(self) -> None:
        """Close it at once."""
        self._held = b""
        self._inner.abort()

    def is_closing(self) -> bool:
        """Return whether it is closed, or about to be."""
        return self._inner.is_closing()

    def pause_reading(self) -> None:
        """Take no bytes for the protocol."""
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        """Take bytes again."""
        self._inner.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401  # as the base
        """Return what is known of the connection."""
        return self._inner.get_extra_info(name, default)
