"""Authenticated connections between the driver and its workers, and between workers."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from pathlib import Path

__all__ = ("Address", "Channel", "Listener", "connect", "local_addresses")

Address = str | tuple[str, int]
"""The path of a Unix socket, or host and port."""

_AUTHENTICATION_S = 10
_MAX_PENDING = 64
"""The maximum number of connections that are being authenticated; more are closed."""
_TCP_OPTIONS = (
    (socket.IPPROTO_TCP, "TCP_NODELAY", 1),
    (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
    (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 15),
    (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 5),
    (socket.IPPROTO_TCP, "TCP_KEEPCNT", 3),
    (socket.IPPROTO_TCP, "TCP_USER_TIMEOUT", 30_000),
)
"""The connection to a machine that has disappeared ends within 30 s."""
_TIMEVAL = struct.Struct("@ll")
_CLOSED = (OSError, EOFError)
_MAX_PATH = 90
"""The maximum bytes of the path of a folder for sockets; the system allows 104 for a socket."""


def local_addresses(folder: Path) -> tuple[Address, str]:
    """Return the addresses of a driver and its workers on this machine.

    Args:
        folder: A private folder for Unix sockets. If its path is too long for sockets, loopback
            ports are used.

    Returns:
        The address of the driver, and the path for the sockets of workers
        (`DriverEndpoint.worker_prefix`), which is empty if ports are used.
    """
    if len(os.fsencode(folder)) > _MAX_PATH:
        return ("127.0.0.1", 0), ""
    return str(folder / "d"), str(folder / "w")


class Channel:
    """A connection that transfers messages of bytes.

    Any thread may send; one thread receives.

    Args:
        connected: The connected socket, which the channel closes.
    """

    def __init__(self, connected: socket.socket) -> None:
        if connected.family != socket.AF_UNIX:
            for level, name, value in _TCP_OPTIONS:
                if hasattr(socket, name):  # not on every platform
                    connected.setsockopt(level, getattr(socket, name), value)
        self._socket = connected
        self._connection = Connection(os.dup(connected.fileno()))  # closed when it is collected
        self._sending = threading.Lock()

    @property
    def host(self) -> str:
        """The IP address of this end of a TCP connection."""
        return str(self._socket.getsockname()[0])

    def send(self, *parts: bytes | bytearray | memoryview) -> None:
        """Send messages one after another; messages of other threads do not come between them.

        Raises:
            OSError: The connection is closed.
        """
        with self._sending:
            for part in parts:
                self._connection.send_bytes(part)

    def receive(self) -> bytes:
        """Wait for the next message.

        Raises:
            EOFError, OSError: The connection is closed.
        """
        return self._connection.recv_bytes()

    def authenticate(self, secret: bytes, *, accepted: bool) -> None:
        """Check that both ends know the secret, by challenge and response (HMAC).

        Args:
            secret: The secret that both ends know.
            accepted: Whether this end has accepted the connection.

        Raises:
            AuthenticationError: The other end does not know the secret.
            EOFError, OSError: The other end has closed the connection, or sends nothing.
        """
        self._limit(_AUTHENTICATION_S)
        steps: list[Callable[[Connection, bytes], None]] = [deliver_challenge, answer_challenge]
        for step in steps if accepted else reversed(steps):
            step(self._connection, secret)
        self._limit(0)

    def _limit(self, seconds: int) -> None:
        """Limit the time of each read; 0 removes the limit."""
        value = _TIMEVAL.pack(seconds, 0)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, value)

    def close(self) -> None:
        """Close the connection; a waiting `receive` raises an error."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            self._socket.close()


class Listener:
    """Accepts authenticated connections in a thread.

    Args:
        address: The path of a Unix socket that does not exist, or a host and the port 0.
        secret: The secret of the other ends.
        accept: Called in a new thread with each authenticated connection.

    Attributes:
        address: The address for `connect`.

    Raises:
        OSError: The socket cannot be created.
    """

    def __init__(self, address: Address, secret: bytes, accept: Callable[[Channel], None]) -> None:
        self._secret = secret
        self._accept = accept
        self._pending = threading.Semaphore(_MAX_PENDING)
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self._socket = socket.socket(family)
        try:
            self._socket.bind(address)
            self._socket.listen(_MAX_PENDING)
        except BaseException:
            self._socket.close()
            raise
        self.address: Address = address if isinstance(address, str) else self._host_and_port()
        threading.Thread(target=self._run, name="worker-listener", daemon=True).start()

    def _host_and_port(self) -> tuple[str, int]:
        host, port = self._socket.getsockname()[:2]
        return host, port

    def close(self) -> None:
        """Accept no further connection."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        if isinstance(self.address, str):
            Path(self.address).unlink(missing_ok=True)

    def _run(self) -> None:
        while True:
            try:
                connected, _ = self._socket.accept()
            except OSError:  # closed
                return
            if not self._pending.acquire(blocking=False):
                connected.close()
                continue
            channel = Channel(connected)
            threading.Thread(target=self._admit, args=(channel,), daemon=True).start()

    def _admit(self, channel: Channel) -> None:
        try:
            channel.authenticate(self._secret, accepted=True)
        except (*_CLOSED, AuthenticationError):
            channel.close()
            return
        finally:
            self._pending.release()
        self._accept(channel)


def connect(address: Address, secret: bytes) -> Channel:
    """Return an authenticated connection to a listener.

    Raises:
        AuthenticationError: The listener does not know the secret.
        EOFError, OSError: The listener cannot be reached, or refuses the connection.
    """
    connected = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
    channel = Channel(connected)
    try:
        connected.connect(address)
        channel.authenticate(secret, accepted=False)
    except BaseException:
        channel.close()
        raise
    return channel
