"""Google's Bigtable emulator as a process on loopback, with data in memory.

Built from its Go module at the first use on a machine. To run it by hand, from the root of the
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
    """One server; `kill` deletes its data.

    Raises:
        NoServerError: Go is not installed, or the module cannot be downloaded.
    """

    def __init__(self) -> None:
        self._program = go_program("emulator", _PACKAGE, _VERSION)
        super().__init__("Bigtable")

    @property
    def endpoint(self) -> str:
        """The address, without TLS."""
        return f"127.0.0.1:{self.ports[0]}"

    def command(self) -> list[str]:
        """Return the program with its options."""
        return [self._program, "-host", "127.0.0.1", "-port", str(self.ports[0])]

    def answers(self) -> bool:
        """Return whether the server listens."""
        with suppress(OSError), socket.create_connection(self.address, timeout=2):
            return True
        return False


def main() -> None:
    """Run a server until Ctrl-C."""
    with BigtableServer() as server:
        say_and_wait(server.endpoint)


if __name__ == "__main__":
    main()
