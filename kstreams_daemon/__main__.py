"""Let the prefork process fork Spark's Python daemon; without it, run the daemon itself."""

from __future__ import annotations

import json
import os
import runpy
import signal
import socket
import sys
from contextlib import suppress

__all__ = ("ask", "main")

_PLACE = "KSTREAMS_PREFORK"
"""The variable with the path of the socket of the prefork process."""

_DAEMON = "pyspark.daemon"


def ask(place: str) -> bool:
    """Ask for a daemon on this process's input and output, and wait for its end.

    Returns:
        Whether there was one.
    """
    with socket.socket(socket.AF_UNIX) as sock:
        try:
            sock.connect(place)
            told = {
                "arguments": sys.argv[1:],
                "environment": dict(os.environ),
                "folder": os.getcwd(),  # noqa: PTH109  # pathlib takes its time to be imported
                "python": [sys.executable, sys.version],
            }
            text = json.dumps(told).encode()
            socket.send_fds(sock, [len(text).to_bytes(4, "big")], [0, 1, 2])
            sock.sendall(text)
            answer = sock.recv(4, socket.MSG_WAITALL)
        except OSError:
            return False
        if len(answer) < 4:  # the prefork process has refused: another Python or other variables
            return False
        daemon = int.from_bytes(answer, "big")

        def forward(number: int, _: object) -> None:
            with suppress(ProcessLookupError):
                os.kill(daemon, number)

        signal.signal(signal.SIGTERM, forward)
        with suppress(OSError):
            sock.recv(1)  # nothing is said: it ends with the daemon
    return True


def main() -> None:
    """Ask, or be the daemon."""
    place = os.environ.get(_PLACE)
    if place is None or not ask(place):
        runpy.run_module(_DAEMON, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
