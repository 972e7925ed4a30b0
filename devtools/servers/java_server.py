"""
A server of Java's as a plain process on loopback, its jars from Maven by Ivy.

The jars come into the library's cache at the first use on a machine.
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
from kstreams.spark.java import java_home

__all__ = ("JavaServer",)

_LAUNCHERS = Path(__file__).parent / "java"


class JavaServer(ServerProcess):
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
        self._options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *options]
        self._java = _java(compiles=compiles, newest=newest_java)
        self.jars = _jars(artifacts)
        super().__init__(name, ports=ports, start_s=start_s)

    @abstractmethod
    def program(self) -> list[str]:
        """Return what follows Java's options: a class or a launcher, and its arguments."""

    def command(self) -> list[str]:
        """Return Java's command line."""
        return [self._java, *self._options, "-cp", f"{self.jars}/*", *self.program()]

    def answers(self) -> bool:
        """Tell whether it listens."""
        with suppress(OSError), socket.create_connection(self.address, timeout=2):
            return True
        return False

    @staticmethod
    def launcher(name: str) -> str:
        """Return the path of one of our launchers, which Java compiles as it starts."""
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
