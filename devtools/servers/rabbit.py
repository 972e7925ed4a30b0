"""
A real RabbitMQ as a plain process on loopback.

Its programs, Erlang's among them, are those of the machine's Debian packages,
unpacked into the library's cache at the first use on a machine (60 MB). By
hand, from the root of the repository::

    python -m devtools.servers.rabbit
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from devtools.servers.debian import debian_root
from devtools.servers.process import Server, launch, launch_on_free_ports, say_and_wait

__all__ = ("RABBIT", "RabbitServer", "rabbit_or_skip")

RABBIT = "rabbitmq-server"
"""Debian's package."""
_START_S = 60.0
_STOP_S = 20.0
_PLACE_IN_LAUNCHERS = "/usr/lib/erlang"
_QUIET = (
    "+S 1:1 +A 2 +sbwt none +sbwtdcpu none +sbwtdio none "
    "-kernel inet_dist_use_interface {127,0,0,1}"
)
"""One scheduler that does not spin, and no address but loopback."""
_BANNER = b"AMQP\x00\x00\x09\x01"


class RabbitServer(Server):
    """
    One node, its data in a temporary folder; also enter it as a context.

    Raises:
        FileNotFoundError: There are no packages of it for this machine.

    """

    def __init__(self) -> None:
        self._root = debian_root(RABBIT)
        self._folder = Path(tempfile.mkdtemp(prefix="kstreams-rabbit-"))
        self._processes: list[subprocess.Popen[bytes]] = []
        self._ports: tuple[int, ...] = ()
        _settle(self._erlang)

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"amqp://guest:guest@127.0.0.1:{self._ports[0]}/"

    @property
    def log_file(self) -> Path:
        """What the server says when it starts."""
        return self._folder / "server.log"

    def start(self) -> RabbitServer:
        """Start, and wait for answers; on the same port and data after `kill`."""
        if self._ports:
            self._start_on(self._ports)
        else:
            launch_on_free_ports(3, self._start_on, self.log_file)
        return self

    def kill(self) -> None:
        """End all its processes at once, as a crash does; its data stay."""
        for process in self._processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(_STOP_S)
        self._processes.clear()

    def stop(self) -> None:
        """End the processes, if they run, and remove the data."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _erlang(self) -> Path:
        return self._root / "usr/lib/erlang"

    def _start_on(self, ports: tuple[int, ...]) -> None:
        self._ports = ports
        amqp, names, nodes = ports
        (self._folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.local = 127.0.0.1:{amqp}\n"
            "vm_memory_high_watermark.absolute = 256MB\n"
            "disk_free_limit.absolute = 50MB\n"
            f"log.file = {self._folder}/rabbit.log\n"
            "log.file.level = warning\n"
        )
        (self._folder / "enabled_plugins").write_text("[].")
        daemon = [str(self._erlang / "bin/epmd"), "-address", "127.0.0.1", "-port", str(names)]
        self._launch("Erlang port mapper", daemon, names, b"", nodes)
        (programs,) = self._root.glob("usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin")
        self._launch("RabbitMQ server", [str(programs / "rabbitmq-server")], amqp, _BANNER, nodes)

    def _launch(self, name: str, command: list[str], port: int, hello: bytes, nodes: int) -> None:
        environment = [f"{key}={value}" for key, value in self._environment(nodes).items()]
        try:
            process = launch(
                name,
                ["env", *environment, *command],
                folder=self._folder,
                log=self.log_file,
                answers=lambda: _answers(port, hello),
                within_s=_START_S,
            )
        except RuntimeError:
            self.kill()
            raise
        self._processes.append(process)

    def _environment(self, nodes: int) -> dict[str, str]:
        folder, root = self._folder, self._root
        return {
            "HOME": str(folder),
            "PATH": f"{self._erlang}/bin:{os.environ.get('PATH', '')}",
            "LD_LIBRARY_PATH": f"{root}/usr/lib/x86_64-linux-gnu:{root}/lib/x86_64-linux-gnu",
            "ERL_ROOTDIR": str(self._erlang),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self._ports[1]),
            "RABBITMQ_NODENAME": f"r{self._ports[0]}@localhost",
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
    """Tell Erlang's launchers where they lie now."""
    with (erlang.parent / "settled.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in ("erl", "start"):
            launcher = erlang / "bin" / name
            if launcher.exists() and str(erlang) not in (text := launcher.read_text()):
                launcher.write_text(text.replace(_PLACE_IN_LAUNCHERS, str(erlang)))


def _answers(port: int, hello: bytes) -> bool:
    """Tell whether something answers; to AMQP's greeting with a frame, where it is a broker."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as client:
            if not hello:
                return True
            client.sendall(hello)
            return client.recv(1) == b"\x01"
    except OSError:
        return False


@contextmanager
def rabbit_or_skip() -> Iterator[RabbitServer]:
    """Run a server; skip the test where this machine has no packages of it."""
    try:
        server = RabbitServer()
    except FileNotFoundError as exc:
        pytest.skip(str(exc))
    with server:
        yield server


def main() -> None:
    """Run a server until Ctrl-C."""
    with RabbitServer() as server:
        say_and_wait(server.url)


if __name__ == "__main__":
    main()
