"""
Google's own emulator of Bigtable as a plain process on loopback, its data in memory.

Built of its Go module at the first use on a machine. By hand, from the root of the
repository::

    python -m devtools.servers.bigtable
"""

from __future__ import annotations

import socket
from contextlib import suppress

from devtools.servers.go_programs import go_program
from devtools.servers.process import ServerProcess, say_and_wait

__all__ = ("BigtableServer",)

_PACKAGE = "cloud.google.com/go/bigtable/cmd/emulator"
_VERSION = "v1.37.0"


class BigtableServer(ServerProcess):
    """
    One server; what it has is gone after `kill`.

    Raises:
        NoServerError: There is no Go to build it with, or no module of it.

    """

    def __init__(self) -> None:
        self._program = go_program("emulator", _PACKAGE, _VERSION)
        super().__init__("Bigtable")

    @property
    def endpoint(self) -> str:
        """Where it answers, without TLS."""
        return f"127.0.0.1:{self.ports[0]}"

    def command(self) -> list[str]:
        """Return the program with its options."""
        return [self._program, "-host", "127.0.0.1", "-port", str(self.ports[0])]

    def answers(self) -> bool:
        """Tell whether it listens."""
        with suppress(OSError), socket.create_connection(self.address, timeout=2):
            return True
        return False


def main() -> None:
    """Run a server until Ctrl-C."""
    with BigtableServer() as server:
        say_and_wait(server.endpoint)


if __name__ == "__main__":
    main()
