"""Free loopback ports for servers that tests start."""

from __future__ import annotations

import os
import socket
from itertools import count as count_from
from itertools import islice

_FIRST, _LAST = 20_000, 32_000
"""Range below Linux's ports for clients, so that a stopped server finds its port free again."""

_steps = count_from(0)
"""The steps of all searches of this process; threads may share the counter."""


def free_ports(count: int) -> tuple[int, ...]:
    """Return ports on 127.0.0.1 that no process listens on.

    Processes start the search at different ports, so that parallel test workers rarely conflict.
    A search continues after the ports of the previous one, which a server may not have bound yet.
    """
    found: list[int] = []
    size = _LAST - _FIRST
    for step in islice(_steps, size):
        port = _FIRST + (os.getpid() * 101 + step) % size
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
