"""A real RabbitMQ server as a process on loopback, with its streams plugin.

RabbitMQ and Erlang come from the machine's Debian packages, unpacked into the library's cache at
the first use on a machine (60 MB). To run it by hand, from the root of the repository::

    python -m devtools.servers.rabbit
"""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from devtools.servers.debian import debian_root
from devtools.servers.process import ServerProcess, end, launch, say_and_wait

__all__ = ("RabbitServer",)

_PACKAGE = "rabbitmq-server"
_START_S, _SETTLE_S, _PAUSE_S = 60.0, 20.0, 0.05
_COORDINATOR = b"rabbit_stream_coordinator"
_PLACE_IN_LAUNCHERS = "/usr/lib/erlang"
_QUIET = (
    "+S 1:1 +A 2 +sbwt none +sbwtdcpu none +sbwtdio none "
    "-kernel inet_dist_use_interface {127,0,0,1}"
)
"""Options for one scheduler without busy waiting, and for loopback addresses only."""
_BANNER = b"AMQP\x00\x00\x09\x01"


class RabbitServer(ServerProcess):
    """One node with Erlang's port mapper; also enter it as a context.

    Raises:
        NoServerError: There are no RabbitMQ packages for this machine.
    """

    def __init__(self) -> None:
        self._root = debian_root(_PACKAGE)
        self._mapper: subprocess.Popen[bytes] | None = None
        super().__init__("RabbitMQ", ports=4, start_s=_START_S)
        _settle(self._erlang)

    @property
    def url(self) -> str:
        """The AMQP URL of the server."""
        return f"amqp://guest:guest@127.0.0.1:{self.ports[0]}/"

    @property
    def stream_url(self) -> str:
        """The URL of the stream protocol."""
        return f"rabbitmq-stream://guest:guest@127.0.0.1:{self.ports[3]}"

    def prepare(self) -> None:
        """Write the list of enabled plugins."""
        (self.folder / "enabled_plugins").write_text("[rabbitmq_stream].")

    def command(self) -> list[str]:
        """Return the program, with its environment variables."""
        (self.folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.local = 127.0.0.1:{self.ports[0]}\n"
            f"stream.listeners.tcp.local = 127.0.0.1:{self.ports[3]}\n"
            "stream.advertised_host = 127.0.0.1\n"
            f"stream.advertised_port = {self.ports[3]}\n"
            "vm_memory_high_watermark.absolute = 256MB\n"
            "disk_free_limit.absolute = 50MB\n"
            f"log.file = {self.folder}/rabbit.log\n"
            "log.file.level = warning\n"
        )
        (programs,) = self._root.glob("usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin")
        return self._with_environment(str(programs / "rabbitmq-server"))

    def answers(self) -> bool:
        """Return whether the server answers AMQP's greeting with a frame."""
        with suppress(OSError), socket.create_connection(self.address, timeout=2) as client:
            client.sendall(_BANNER)
            return client.recv(1) == b"\x01" and _listens(self.ports[3])
        return False

    def settle(self) -> None:
        """Wait, after the creation of a stream, until a crash cannot lose all streams permanently.

        RabbitMQ 3.10 writes the name of its stream coordinator half a second after the first stream
        was created.

        Raises:
            RuntimeError: The server has not written the name in time.
        """
        deadline = time.monotonic() + _SETTLE_S
        while not any(
            _COORDINATOR in each.read_bytes() for each in self.folder.rglob("names.dets")
        ):
            if time.monotonic() > deadline:
                raise RuntimeError(f"the log of RabbitMQ does not contain {_COORDINATOR.decode()}")
            time.sleep(_PAUSE_S)

    def kill(self) -> None:
        """Stop all processes at once, like a crash; data stays, see `settle`."""
        super().kill()
        if self._mapper is not None:
            end(self._mapper, self.crash)
            self._mapper = None

    @property
    def _erlang(self) -> Path:
        return self._root / "usr/lib/erlang"

    def _start_on(self, ports: tuple[int, ...]) -> None:
        self.ports = ports
        port = str(ports[1])
        mapper = [str(self._erlang / "bin/epmd"), "-address", "127.0.0.1", "-port", port]
        self._mapper = launch(
            "Erlang port mapper",
            self._with_environment(*mapper),
            folder=self.folder,
            log=self.log_file,
            answers=lambda: _listens(ports[1]),
            within_s=_START_S,
        )
        try:
            super()._start_on(ports)
        except RuntimeError:
            self.kill()
            raise

    def _with_environment(self, *command: str) -> list[str]:
        settings = self._environment(self.ports[2])
        return ["env", *(f"{key}={value}" for key, value in settings.items()), *command]

    def _environment(self, nodes: int) -> dict[str, str]:
        folder, root = self.folder, self._root
        return {
            "HOME": str(folder),
            "PATH": f"{self._erlang}/bin:{os.environ.get('PATH', '')}",
            "LD_LIBRARY_PATH": f"{root}/usr/lib/x86_64-linux-gnu:{root}/lib/x86_64-linux-gnu",
            "ERL_ROOTDIR": str(self._erlang),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self.ports[1]),
            "RABBITMQ_NODENAME": f"r{self.ports[0]}@localhost",
            "RABBITMQ_DIST_PORT": str(nodes),
            "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq.conf",
            "RABBITMQ_MNESIA_BASE": f"{folder}/data",
            "RABBITMQ_LOG_BASE": str(folder),
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/enabled_plugins",
            "RABBITMQ_FEATURE_FLAGS_FILE": f"{folder}/feature_flags",
            "RABBITMQ_GENERATED_CONFIG_DIR": f"{folder}/generated",
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_PID_FILE": f"{folder}/beam.pid",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": _QUIET,
        }


def _settle(erlang: Path) -> None:
    """Write their new location into Erlang's launchers."""
    with (erlang.parent / "settled.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in ("erl", "start"):
            launcher = erlang / "bin" / name
            if launcher.exists() and str(erlang) not in (text := launcher.read_text()):
                launcher.write_text(text.replace(_PLACE_IN_LAUNCHERS, str(erlang)))


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2):
        return True
    return False


def main() -> None:
    """Run a server until Ctrl-C."""
    with RabbitServer() as server:
        say_and_wait(server.url)


if __name__ == "__main__":
    main()
