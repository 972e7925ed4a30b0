"""A connection that sends the head of a response together with the start of its body."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

__all__ = ("WholeWrites",)


class WholeWrites(asyncio.Transport):
    """A transport that buffers a write until the next one, or until the event loop continues.

    Uvicorn writes the head and the body of a response separately. As two packets they wake a client
    twice, the first time without usable data, and need two system calls.

    Args:
        inner: The transport that writes.
        loop: The event loop.
        linger_seconds: The maximum time for a closed connection to send the rest of a response, in
            seconds. A client that reads nothing would keep it open otherwise.
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
        """Write the buffered data and `data` together; if no data is buffered, buffer `data`."""
        if self._held:
            self.writelines((data,))
        elif data:
            self._held = data
            self._loop.call_soon(self._flush)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """Write the buffered data and all of this data."""
        held, self._held = self._held, b""
        # From Python 3.12 on, a transport never finishes writing an empty last part.
        if parts := [part for part in (held, *list_of_data) if len(part)]:
            self._inner.writelines(parts)

    def _flush(self) -> None:
        if self._held:
            self.writelines(())

    def close(self) -> None:
        """Close the connection once all data is written, or after `linger_seconds`."""
        self._flush()
        if self._inner.is_closing():
            return
        if self._inner.get_write_buffer_size():
            self._loop.call_later(self._linger_seconds, self._inner.abort)
        self._inner.close()

    def abort(self) -> None:
        """Close the connection at once."""
        self._held = b""
        self._inner.abort()

    def is_closing(self) -> bool:
        """Return whether the connection is closed or being closed."""
        return self._inner.is_closing()

    def pause_reading(self) -> None:
        """Stop passing received bytes to the protocol."""
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        """Pass received bytes to the protocol again."""
        self._inner.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401  # as the base
        """Return a property of the connection by its name; `peername` is the client's address."""
        return self._inner.get_extra_info(name, default)
