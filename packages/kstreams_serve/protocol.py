"""The HTTP protocol, with limits on all that a client sends or does not read."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from kstreams_serve.settings import Limits
from kstreams_serve.whole_writes import WholeWrites

__all__ = ("BoundedProtocol", "protocol_of")

_PIPELINED = 16
_CLOSED = b"content-length: 0\r\nconnection: close\r\n\r\n"
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + _CLOSED
_TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\n" + _CLOSED


def protocol_of(limits: Limits) -> type[asyncio.Protocol]:
    """Return the protocol class with these limits."""
    return type("Protocol", (BoundedProtocol,), {"limits": limits})


class BoundedProtocol(HttpToolsProtocol):
    """Uvicorn's protocol, with bounds on connections, heads, trailers and slow clients.

    Uvicorn limits the time of idle connections only. This class also limits:

    - open connections: a connection above the limit gets 503 and is closed;
    - bytes outside of bodies: request lines, header lines, chunk sizes and their extensions, and
      trailers. The counter restarts at the end of each head and at each chunk of a body, so it
      holds for all of them, whatever the state of the connection;
    - pipelined requests that wait for earlier responses;
    - the time for a head, and for reading a response.

    Trailers are discarded: no route uses them, and they must not add to the headers that have
    been checked.

    Attributes:
        limits: The bounds.
    """

    limits: ClassVar[Limits] = Limits()
    _head_timer: asyncio.TimerHandle | None = None
    _send_timer: asyncio.TimerHandle | None = None
    _in_head = True
    _overhead_bytes = 0

    def connection_made(  # type: ignore[override]  # as uvicorn has it
        self, transport: asyncio.Transport
    ) -> None:
        """Start the timer for the head of the first request, or refuse the connection."""
        writes = WholeWrites(transport, self.loop, self.limits.send_seconds)
        super().connection_made(writes)
        if len(self.connections) > self.limits.connections:
            self._refuse(_TOO_MANY)
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop_head_timer()
        self._stop_send_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse bytes; refuse the connection after too many bytes outside of bodies."""
        if self.transport.is_closing():
            return
        if self._head_timer is None and self._is_idle():
            self._await_head()
        self._overhead_bytes += len(data)
        super().data_received(data)
        if self._overhead_bytes > self.limits.head_bytes and not self.transport.is_closing():
            self._refuse(_TOO_LARGE)

    def on_message_begin(self) -> None:
        """Note that the following headers belong to the head of a request, not to trailers."""
        self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; discard a trailer."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the request; refuse it if its head is too large or too many requests wait."""
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        self._in_head = False
        self._overhead_bytes = 0
        self._stop_head_timer()
        if self.transport.is_closing():
            return
        if size > self.limits.head_bytes:
            self._refuse(_TOO_LARGE)
        elif len(self.pipeline) >= _PIPELINED:
            self._refuse(_TOO_MANY)
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Accept bytes of a request body, and restart the counter of bytes outside of bodies.

        The counter does not restart after the response is complete: nothing reads the body then.
        """
        if self.transport.is_closing():
            return
        if not self.cycle.response_complete:
            self._overhead_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Pass the end of a request to uvicorn, unless the connection is closing."""
        if not self.transport.is_closing():
            super().on_message_complete()

    def pause_writing(self) -> None:
        """Pause for a slow client; abort the connection after `send_seconds`."""
        super().pause_writing()
        self._stop_send_timer()
        self._send_timer = self.loop.call_later(self.limits.send_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Resume writing after the client has read."""
        self._stop_send_timer()
        super().resume_writing()

    def _is_idle(self) -> bool:
        """Return whether no request is being answered."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _stop_send_timer(self) -> None:
        if self._send_timer is not None:
            self._send_timer.cancel()
            self._send_timer = None

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self.limits.head_seconds, self.transport.close)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _refuse(self, answer: bytes) -> None:
        """Close the connection; send this response first, unless another response has begun."""
        self._stop_head_timer()
        if self._is_idle() or not self.cycle.response_started:
            self.transport.write(answer)
        self.transport.close()
