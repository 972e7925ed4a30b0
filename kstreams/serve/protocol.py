"""HTTP on a socket, for clients that may be slow on purpose."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from kstreams.serve.settings import Limits
from kstreams.serve.whole_writes import WholeWrites

__all__ = ("BoundedProtocol", "protocol_of")

_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


def protocol_of(limits: Limits) -> type[asyncio.Protocol]:
    """Return the protocol with these bounds."""
    return type("Protocol", (BoundedProtocol,), {"limits": limits})


class BoundedProtocol(HttpToolsProtocol):
    """Uvicorn's protocol, with bounds on a request's head, and on how slowly answers are taken.

    Uvicorn has a time-out for idle connections alone: one whose head comes byte by byte, or
    never, would stay, and one that reads nothing of a large answer, too.

    Attributes:
        limits: The bounds.
    """

    limits: ClassVar[Limits] = Limits()
    _head_timer: asyncio.TimerHandle | None = None
    _send_timer: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(  # type: ignore[override]  # as uvicorn has it
        self, transport: asyncio.Transport
    ) -> None:
        """Begin to wait for a head."""
        super().connection_made(WholeWrites(transport, self.loop))
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._head_came()
        self._stop_send_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; too many of a head are refused."""
        cycle: RequestResponseCycle | None = self.cycle
        if self._head_timer is None and (cycle is None or cycle.response_complete):
            self._await_head()
        if self._head_timer is not None:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_timer is not None and self._head_bytes > self.limits.head_bytes:
            self._refuse()

    def on_headers_complete(self) -> None:
        """Begin the request, if its head is not too large."""
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        self._head_came()
        if size > self.limits.head_bytes:
            self._refuse()
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """End the request's body."""
        if not self.transport.is_closing():
            super().on_message_complete()

    def pause_writing(self) -> None:
        """Wait for a client that reads more slowly than is written; not for ever."""
        super().pause_writing()
        self._stop_send_timer()
        self._send_timer = self.loop.call_later(self.limits.send_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: the client has read."""
        self._stop_send_timer()
        super().resume_writing()

    def _stop_send_timer(self) -> None:
        if self._send_timer is not None:
            self._send_timer.cancel()
            self._send_timer = None

    def _await_head(self) -> None:
        self._head_bytes = 0
        self._head_timer = self.loop.call_later(self.limits.head_seconds, self.transport.close)

    def _head_came(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _refuse(self) -> None:
        self._head_came()
        self.transport.write(_TOO_LARGE)
        self.transport.close()
