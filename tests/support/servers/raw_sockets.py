"""Raw sockets that send invalid HTTP, and the memory that the server uses for it."""

from __future__ import annotations

import socket
import tracemalloc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = (
    "MIB",
    "answer_to",
    "bounded_memory",
    "connected",
    "flood",
    "resident_bytes",
    "status_of",
)

MIB = 1024 * 1024
_SENT = 24 * MIB


def connected(port: int) -> socket.socket:
    """Return a connection to a server in this process."""
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def flood(client: socket.socket, piece: bytes, most: int = _SENT) -> int:
    """Send a piece repeatedly until the server closes the connection.

    Returns:
        The number of bytes that were sent.
    """
    sent = 0
    with suppress(ConnectionError, TimeoutError):
        while sent < most:
            client.sendall(piece)
            sent += len(piece)
    return sent


def answer_to(port: int, pieces: Iterable[bytes]) -> bytes:
    """Send pieces, and return everything that the server sends until it closes the connection."""
    found = b""
    with connected(port) as client:
        with suppress(ConnectionError):
            for piece in pieces:
                client.sendall(piece)
        with suppress(ConnectionError):
            while more := client.recv(65_536):
                found += more
    return found


def status_of(answer: bytes) -> int:
    """Return the status of an answer; 0 if the connection was closed without one."""
    line = answer.split(b"\r\n")[0].split(b" ")
    return int(line[1]) if len(line) > 1 else 0


def resident_bytes() -> int:
    """Return the memory of this process, of native code too."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("/proc has no VmRSS")


@contextmanager
def bounded_memory(most: int) -> Iterator[None]:
    """Assert that this process, its servers included, allocates no more than this in between."""
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        yield
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak < most, f"{peak / MIB:.1f} MiB were allocated"
