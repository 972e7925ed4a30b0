"""
A server of Java's as a plain process on loopback, its jars from Maven by Ivy.

The jars come into the library's cache at the first use on a machine.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from devtools.servers.ivy import Artifact, JarResolutionError, cache_folder, resolve
from devtools.servers.process import Server, launch, launch_on_free_ports
from kstreams.errors import JavaNotFoundError
from kstreams.spark.java import java_home

__all__ = ("JavaServer", "NoServerError")

J = TypeVar("J", bound="JavaServer")

_LAUNCHERS = Path(__file__).parent / "java"


class NoServerError(Exception):
    """The server cannot be had on this machine: no compiler of Java's, or no repository."""


class JavaServer(Server):
    """
    One server, its data in a temporary folder; also enter it as a context.

    Args:
        name: What it is called.
        artifacts: What is brought with all that it depends on, the server first.
        options: Of the Java machine.
        ports: How many it listens on.
        start_s: How long it may take to answer.
        compiles: Whether it has a launcher of ours, which Java compiles.
        newest_java: The last version that it runs on; None for any.

    Raises:
        NoServerError: It cannot be had.

    """

    def __init__(
        self,
        name: str,
        artifacts: Sequence[Artifact],
        options: Sequence[str],
        *,
        ports: int = 1,
        start_s: float = 120.0,
        compiles: bool = True,
        newest_java: int | None = None,
    ) -> None:
        self.name = name
        self._options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *options]
        self._count = ports
        self._start_s = start_s
        self._process: subprocess.Popen[bytes] | None = None
        self.ports: tuple[int, ...] = ()
        self._java = _java(compiles=compiles, newest=newest_java)
        self.jars = _jars(artifacts)
        self.folder = Path(tempfile.gettempdir()) / f"kstreams-{name.lower()}-{uuid4().hex[:12]}"

    @property
    def log_file(self) -> Path:
        """What it says."""
        return self.folder / "server.log"

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the first of its ports."""
        return "127.0.0.1", self.ports[0]

    def start(self: J) -> J:
        """Start, and wait for answers; on the same ports after `kill`."""
        if self.ports:
            self._start_on(self.ports)
        else:
            launch_on_free_ports(self._count, self._start_on, self.log_file)
        return self

    def kill(self) -> None:
        """End it as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """End the process, if it runs, and remove its data."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def command(self) -> list[str]:
        """Return what follows Java's options: a class or a launcher, and its arguments."""
        raise NotImplementedError

    def answers(self) -> bool:
        """Tell whether it listens."""
        with suppress(OSError), socket.create_connection(self.address, timeout=2):
            return True
        return False

    @staticmethod
    def launcher(name: str) -> str:
        """Return the path of one of our launchers, which Java compiles as it starts."""
        return str(_LAUNCHERS / f"{name}.java")

    def _start_on(self, ports: tuple[int, ...]) -> None:
        self.ports = ports
        self.folder.mkdir(exist_ok=True)
        self._process = launch(
            f"{self.name} server",
            [self._java, *self._options, "-cp", f"{self.jars}/*", *self.command()],
            folder=self.folder,
            log=self.log_file,
            answers=self.answers,
            within_s=self._start_s,
        )


def _jars(artifacts: Sequence[Artifact]) -> Path:
    server = artifacts[0]
    folder = cache_folder() / "servers" / f"{server.name}-{server.version}"
    try:
        resolve(artifacts, folder, transitive=True)
    except JarResolutionError as exc:
        raise NoServerError(str(exc)) from exc
    return folder


def _java(*, compiles: bool, newest: int | None) -> str:
    try:
        home = java_home()
    except JavaNotFoundError as exc:
        raise NoServerError(str(exc)) from exc
    if compiles and not (home / "bin" / "javac").exists():
        raise NoServerError(f"its launcher needs a compiler of Java's, and {home} has none")
    if newest is not None and (version := _version(home)) > newest:
        raise NoServerError(f"it runs on Java {newest}, and {home} is of {version}")
    return str(home / "bin" / "java")


def _version(home: Path) -> int:
    """Return the first number of a Java's version."""
    found = re.search(r'JAVA_VERSION="(\d+)', (home / "release").read_text())
    if found is None:
        raise NoServerError(f"{home} does not say its version")
    return int(found[1])
