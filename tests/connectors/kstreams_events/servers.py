"""Servers that keep and send events, and can be made to fail."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

__all__ = ("EventServer", "SocketServer")


class EventServer:
    """Sends all events after a last id, then new ones.

    Attributes:
        raw: Bytes that are sent in place of events, if not empty.
        status: Status of the next responses.
        kind: Content type of the responses.
        asked: Last-Event-ID of each request.
        ends: Whether a response ends after the existing events.
    """

    def __init__(self) -> None:
        self.events: list[tuple[str | None, bytes]] = []
        self.raw: Sequence[bytes] = ()
        self.status = 200
        self.kind = "text/event-stream"
        self.asked: list[str | None] = []
        self.headers: list[dict[str, str]] = []
        self.ends = False
        self.changed = threading.Condition()
        self.closed = False
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner._answer(self)

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/events"

    def send(self, messages: Sequence[tuple[str | None, bytes]]) -> None:
        with self.changed:
            self.events += messages
            self.changed.notify_all()

    def cut(self) -> None:
        """End all responses after the existing events."""
        with self.changed:
            self.ends = True
            self.changed.notify_all()

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        last = request.headers["Last-Event-ID"]
        self.asked.append(last)
        self.headers.append(dict(request.headers))
        request.send_response(self.status)
        request.send_header("Content-Type", self.kind)
        request.end_headers()
        if self.status != 200:
            return
        try:
            for part in self.raw:
                request.wfile.write(part)
            self._follow(request, last)
        except OSError:
            return

    def _follow(self, request: BaseHTTPRequestHandler, last: str | None) -> None:
        ids = [identity for identity, _ in self.events]
        place = ids.index(last) + 1 if last in ids and last is not None else 0
        while True:
            with self.changed:
                while place >= len(self.events) and not (self.ends or self.closed):
                    if not self.changed.wait(0.05):
                        request.wfile.write(b": still here\n\n")
                if place >= len(self.events):
                    self.ends = False
                    return
                identity, value = self.events[place]
            text = b"" if identity is None else b"id: %s\n" % identity.encode()
            text += b"".join(b"data: %s\n" % line for line in value.split(b"\n"))
            request.wfile.write(text + b"\n")
            place += 1


class SocketServer:
    """Sends messages to connected clients; keeps messages until a client is connected."""

    def __init__(self) -> None:
        self.waiting: list[bytes | str] = []
        self.greetings: list[object] = []
        self.headers: list[Any] = []
        self.connections: list[ServerConnection] = []
        self.changed = threading.Condition()
        self._server: Server = serve(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.socket.getsockname()[1]
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/events"

    def send(self, messages: Sequence[bytes | str]) -> None:
        with self.changed:
            self.waiting += messages
            self.changed.notify_all()

    def cut(self) -> None:
        """Drop all connections, as a network failure does."""
        with self.changed:
            cut = [*self.connections]
            self.connections.clear()
        for connection in cut:
            connection.socket.shutdown(2)

    def close(self) -> None:
        with self.changed:
            self.connections.clear()
            self.changed.notify_all()
        self._server.shutdown()
        self._thread.join()

    def _serve(self, connection: ServerConnection) -> None:
        with self.changed:
            self.connections.append(connection)
            self.headers.append(connection.request)
        reader = threading.Thread(target=self._read, args=(connection,))
        reader.start()
        try:
            while True:
                with self.changed:
                    gone = not self.changed.wait_for(lambda: self.waiting, 0.02)
                    if connection not in self.connections:
                        return
                    if gone:
                        continue
                    message = self.waiting.pop(0)
                connection.send(message)
        except ConnectionClosed:
            return
        finally:
            with self.changed:
                if connection in self.connections:
                    self.connections.remove(connection)
            connection.close()
            reader.join()

    def _read(self, connection: ServerConnection) -> None:
        try:
            for message in connection:
                with self.changed:
                    self.greetings.append(json.loads(message))
                    self.changed.notify_all()
        except ConnectionClosed:
            pass
        with self.changed:
            if connection in self.connections:
                self.connections.remove(connection)
            self.changed.notify_all()
