"""A Java server as a process on loopback, with jars from Maven by Ivy.

The jars are downloaded into the library's cache at the first use on a machine.
"""

from __future__ import annotations

import re
import socket
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from devtools.servers.ivy import Artifact, JarResolutionError, cache_folder, resolve
from devtools.servers.process import NoServerError, ServerProcess
from kstreams.errors import JavaNotFoundError
from kstreams.spark.startup.java import java_home

__all__ = ("JavaServer",)

_LAUNCHERS = Path(__file__).parent / "java"


class JavaServer(ServerProcess):
    """One server with its data in a temporary folder; also enter it as a context.

    Args:
        name: The name of the server.
        artifacts: The artifacts to download with all dependencies, the server first.
        options: Options of the JVM.
        ports: The number of ports to listen on.
        start_s: The time limit of the start.
        compiles: Whether the server has a launcher in this repository, which Java compiles.
        newest_java: The last supported version of Java; None supports all versions.

    Raises:
        NoServerError: The server cannot run on this machine.
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
        self._options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *options]
        self._java = _java(compiles=compiles, newest=newest_java)
        self.jars = _jars(artifacts)
        super().__init__(name, ports=ports, start_s=start_s)

    @abstractmethod
    def program(self) -> list[str]:
        """Return the arguments after Java's options: a class or a launcher, and its arguments."""

    def command(self) -> list[str]:
        """Return Java's command line."""
        return [self._java, *self._options, "-cp", f"{self.jars}/*", *self.program()]

    def answers(self) -> bool:
        """Return whether the server listens."""
        with suppress(OSError), socket.create_connection(self.address, timeout=2):
            return True
        return False

    @staticmethod
    def launcher(name: str) -> str:
        """Return the path of a launcher in this repository, which Java compiles at its start."""
        return str(_LAUNCHERS / f"{name}.java")


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
        raise NoServerError(f"the launcher needs javac, and {home} has no javac")
    if newest is not None and (version := _version(home)) > newest:
        raise NoServerError(f"the server needs Java {newest} or older, {home} is {version}")
    return str(home / "bin" / "java")


def _version(home: Path) -> int:
    """Return the major version of a Java installation."""
    found = re.search(r'JAVA_VERSION="(\d+)', (home / "release").read_text())
    if found is None:
        raise NoServerError(f"the Java in {home} does not report its version")
    return int(found[1])
