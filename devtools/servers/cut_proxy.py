"""A proxy in front of a real server that drops connections, for any protocol.

A connection is closed on both sides after a number of bytes from the server::

    with CutProxy(server.address) as proxy:
        proxy.cut_after(1_000, times=2)
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from contextlib import suppress
from types import TracebackType

__all__ = ("CutProxy",)

_CHUNK = 1 << 14


class CutProxy:
    """A proxy that listens on loopback inside its context.

    Args:
        server: Host and port of the real server.

    Attributes:
        cuts: The number of dropped connections.
    """

    def __init__(self, server: tuple[str, int]) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._limits: deque[int] = deque()
        self._open: list[socket.socket] = []
        self.cuts = 0

    @property
    def port(self) -> int:
        """The port for clients."""
        found: int = self._listener.getsockname()[1]
        return found

    def cut_after(self, count: int, *, times: int = 1) -> None:
        """Drop the next new connections, each after a number of bytes from the server.

        Args:
            count: The number of bytes.
            times: The number of connections.
        """
        self._limits = deque([count] * times)

    def cut_all(self) -> None:
        """Drop all open connections."""
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> CutProxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut_all()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                limit = self._limits.popleft() if self._limits else None
                threading.Thread(target=self._serve, args=(client, limit), daemon=True).start()

    def _serve(self, client: socket.socket, limit: int | None) -> None:
        with client, suppress(OSError), socket.create_connection(self._server) as server:
            self._open += [client, server]
            threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()
            self._pass_on(server, client, limit)

    def _pass_on(self, source: socket.socket, to: socket.socket, limit: int | None = None) -> None:
        """Forward the data of one side until it ends or reaches the limit."""
        left = limit
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                if left is not None and len(data) > left:
                    to.sendall(data[:left])
                    self.cuts += 1
                    break
                to.sendall(data)
                if left is not None:
                    left -= len(data)
        for each in (source, to):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
