"""A proxy in front of a real HTTP server that injects faults of networks and servers.

Every request is forwarded to the server, and its response returned, unless a fault is due::

    with FaultProxy(server.address) as proxy:
        proxy.inject(Refuse(503, "SlowDown"), method="PUT", times=2)
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType


@dataclass(frozen=True)
class Refuse:
    """Answer with an S3 error without forwarding the request."""

    status: int
    code: str
    message: str = "a fault, injected"


@dataclass(frozen=True)
class Delay:
    """Delay the request before forwarding it."""

    seconds: float


@dataclass(frozen=True)
class DropReply:
    """Forward the request, and close the connection instead of returning the response."""

    before: Callable[[], None] = lambda: None
    """Called between the server's response and the loss of the connection."""


@dataclass(frozen=True)
class CutUpload:
    """Close the connection on both sides after this number of bytes of the request body."""

    after: int


@dataclass(frozen=True)
class CutAnswer:
    """Close the connection after this number of bytes of the response body."""

    after: int


@dataclass(frozen=True)
class Truncate:
    """Remove the last bytes of the response body, and adjust its length."""

    count: int


@dataclass(frozen=True)
class Flip:
    """Change one bit of the response body."""

    position: int


@dataclass(frozen=True)
class Before:
    """Call a function, which may change the server's data, before forwarding the request."""

    action: Callable[[], object]


Fault = Refuse | Delay | DropReply | CutUpload | CutAnswer | Truncate | Flip | Before


@dataclass
class _Plan:
    fault: Fault
    method: str | None
    contains: str
    times: int
    skip: int


class FaultProxy:
    """A proxy that listens on loopback inside its context.

    Args:
        server: Host and port of the real server.
        certificate: A PEM file with key and certificate for TLS; None disables TLS.
    """

    def __init__(self, server: tuple[str, int], *, certificate: Path | None = None) -> None:
        self.server = server
        self.seen: list[str] = []
        self._plans: list[_Plan] = []
        self._mutex = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._http.socket = context.wrap_socket(
                self._http.socket, server_side=True, do_handshake_on_connect=False
            )
            self._scheme = "https"

    @property
    def url(self) -> str:
        """The URL for clients."""
        return f"{self._scheme}://127.0.0.1:{self._http.server_address[1]}"

    def inject(
        self,
        fault: Fault,
        *,
        method: str | None = None,
        contains: str = "",
        times: int = 1,
        skip: int = 0,
    ) -> None:
        """Plan a fault for the next matching requests.

        Args:
            fault: The fault.
            method: The method of matching requests; None matches all methods.
            contains: A text that the path and query of matching requests contain.
            times: The number of requests that get the fault.
            skip: The number of matching requests to forward unchanged before.
        """
        with self._mutex:
            self._plans.append(_Plan(fault, method, contains, times, skip))

    def heal(self) -> None:
        """Remove all planned faults and the log of requests."""
        with self._mutex:
            self._plans.clear()
            self.seen.clear()

    def count(self, method: str, contains: str = "") -> int:
        """Return the number of requests with a method since the last `heal`."""
        with self._mutex:
            return sum(line.startswith(f"{method} ") and contains in line for line in self.seen)

    def take(self, method: str, path: str) -> Fault | None:
        """Record a request, and return its fault, if any."""
        with self._mutex:
            self.seen.append(f"{method} {path}")
            for plan in self._plans:
                if plan.times and plan.method in (None, method) and plan.contains in path:
                    if plan.skip:
                        plan.skip -= 1
                        continue
                    plan.times -= 1
                    return plan.fault
        return None

    def __enter__(self) -> FaultProxy:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Closed(Exception):
    """Closes the connection without a response."""


class _Handler(BaseHTTPRequestHandler):
    proxy: FaultProxy
    protocol_version = "HTTP/1.1"
    timeout = 60

    def handle(self) -> None:
        try:
            super().handle()
        except (_Closed, ConnectionError, ssl.SSLError):
            self.close_connection = True

    def do_any(self) -> None:
        fault = self.proxy.take(self.command, self.path)
        body = self._body(fault)
        if isinstance(fault, Refuse):
            text = f"<Error><Code>{fault.code}</Code><Message>{fault.message}</Message></Error>"
            self._answer(fault.status, [("Content-Type", "application/xml")], text.encode())
            return
        if isinstance(fault, Delay):
            time.sleep(fault.seconds)
        if isinstance(fault, Before):
            fault.action()
        status, headers, content = self._ask(body)
        if isinstance(fault, DropReply):
            fault.before()
            self._close()
        if isinstance(fault, Truncate):
            content = content[: -fault.count]
        if isinstance(fault, Flip) and status < 300:
            position = fault.position % len(content)
            flipped = bytes([content[position] ^ 0x10])
            content = content[:position] + flipped + content[position + 1 :]
        self._answer(status, headers, content, fault)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = do_any  # noqa: N815  # http.server's names

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # http.server's
        """Log nothing."""

    def _body(self, fault: Fault | None) -> bytes:
        length = int(self.headers.get("Content-Length") or 0)
        if isinstance(fault, CutUpload) and length:
            part = self.rfile.read(min(fault.after, length))
            upstream = socket.create_connection(self.proxy.server)
            upstream.sendall(self._head() + part)
            upstream.close()
            self._close()
        return self.rfile.read(length) if length else b""

    def _head(self) -> bytes:
        lines = [f"{self.command} {self.path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in self._request_headers()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def _request_headers(self) -> list[tuple[str, str]]:
        left_out = {"expect", "connection"}
        return [(n, v) for n, v in self.headers.items() if n.lower() not in left_out]

    def _ask(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        upstream = http.client.HTTPConnection(*self.proxy.server, timeout=60)
        try:
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self._request_headers():
                upstream.putheader(name, value)
            upstream.endheaders(body)
            got = upstream.getresponse()
            return got.status, got.getheaders(), got.read()
        finally:
            upstream.close()

    def _answer(
        self,
        status: int,
        headers: list[tuple[str, str]],
        content: bytes,
        fault: Fault | None = None,
    ) -> None:
        self.send_response_only(status)
        length = str(len(content))
        for name, value in headers:
            if name.lower() == "content-length" and self.command == "HEAD":
                length = value
            elif name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", length)
        self.end_headers()
        if self.command == "HEAD":
            return
        if isinstance(fault, CutAnswer):
            self.wfile.write(content[: fault.after])
            self.wfile.flush()
            self._close()
        self.wfile.write(content)

    def _close(self) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)
        raise _Closed


def _handler(of: FaultProxy) -> type[_Handler]:
    return type("Handler", (_Handler,), {"proxy": of})
