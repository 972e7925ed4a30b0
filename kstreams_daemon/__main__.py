"""Request Spark's Python daemon from the prefork process; without one, run the daemon here."""

from __future__ import annotations

import json
import os
import runpy
import signal
import socket
import sys
from contextlib import suppress

__all__ = ("main", "request_daemon")

_PLACE = "KSTREAMS_PREFORK"
"""The variable with the path of the socket of the prefork process."""

_DAEMON = "pyspark.daemon"


def request_daemon(place: str) -> bool:
    """Request a daemon that uses this process's input and output, and wait until it ends.

    Args:
        place: The path of the socket of the prefork process.

    Returns:
        Whether the prefork process started a daemon.
    """
    with socket.socket(socket.AF_UNIX) as sock:
        try:
            sock.connect(place)
            request = {
                "arguments": sys.argv[1:],
                "environment": dict(os.environ),
                "folder": os.getcwd(),  # noqa: PTH109  # the import of pathlib is slow
                "python": [sys.executable, sys.version],
            }
            text = json.dumps(request).encode()
            socket.send_fds(sock, [len(text).to_bytes(4, "big")], [0, 1, 2])
            sock.sendall(text)
            answer = sock.recv(4, socket.MSG_WAITALL)
        except OSError:
            return False
        if len(answer) < 4:  # refused: another Python or environment
            return False
        daemon = int.from_bytes(answer, "big")

        def forward(number: int, _: object) -> None:
            with suppress(ProcessLookupError):
                os.kill(daemon, number)

        signal.signal(signal.SIGTERM, forward)
        with suppress(OSError):
            sock.recv(1)  # returns when the daemon ends
    return True


def main() -> None:
    """Request a daemon; run the daemon in this process if there is no prefork process."""
    place = os.environ.get(_PLACE)
    if place is None or not request_daemon(place):
        runpy.run_module(_DAEMON, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
