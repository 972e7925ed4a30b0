"""Free loopback ports for servers that tests start."""

from __future__ import annotations

import os
import socket

_FIRST, _LAST = 20_000, 32_000
"""Below what Linux hands out to clients, so that a stopped server finds its port free again."""


def free_ports(count: int) -> tuple[int, ...]:
    """
    Return ports on 127.0.0.1 that nothing listens on right now.

    Processes begin at different places, so that test workers rarely meet.
    """
    found: list[int] = []
    size = _LAST - _FIRST
    start = os.getpid() * 101
    for step in range(size):
        port = _FIRST + (start + step) % size
        if _is_free(port):
            found.append(port)
            if len(found) == count:
                return tuple(found)
    raise RuntimeError(f"no {count} free ports from {_FIRST} to {_LAST}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
