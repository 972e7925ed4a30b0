"""A peer's Java program: its libraries, and its classes, which are compiled once."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite.environment import step
from benchmarks.suite.peer import Unavailable
from devtools.servers.ivy import Artifact, resolve
from kstreams import KStreamsError
from kstreams.spark.startup.java import java_home

__all__ = ("JavaProgram", "sources_in")

_LOGS = Artifact("org.slf4j", "slf4j-simple", "1.7.36")


def sources_in(folder: Path) -> tuple[Path, ...]:
    """Return the Java files of a folder, in the order of their names."""
    return tuple(sorted(folder.glob("*.java")))


@dataclass(frozen=True)
class JavaProgram:
    """A program of some Java files, with the heap of all JVMs of the suite.

    Args:
        name: The name of its folders in the cache, with the version of its libraries.
        main: The main class.
        sources: The Java files.
        artifacts: The libraries; their dependencies are added, and a logger of warnings.
        options: Further options of the JVM.
    """

    name: str
    main: str
    sources: tuple[Path, ...]
    artifacts: tuple[Artifact, ...]
    options: tuple[str, ...] = ()

    def install(self, cache: Path) -> None:
        """Download the libraries and compile the program, once.

        Raises:
            Unavailable: There is no compiler, or a library cannot be downloaded.
        """
        if shutil.which("javac") is None:
            raise Unavailable("the Java compiler `javac` is not on PATH")
        classes = self._classes(cache)
        if classes.is_dir():
            return
        try:
            jars = self._jars(cache)
        except KStreamsError as exc:
            raise Unavailable(str(exc)) from exc
        made = classes.with_suffix(".new")
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        step(["javac", "-nowarn", "-cp", jars, "-d", str(made), *map(str, self.sources)], made)
        made.rename(classes)

    def command(self, cache: Path) -> tuple[str, ...]:
        """Return the command that starts the installed program."""
        java = str(java_home() / "bin" / "java")
        path = f"{self._classes(cache)}:{self._jars(cache)}"
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        return (java, "-Xmx1g", *self.options, quiet, "-cp", path, self.main)

    def _jars(self, cache: Path) -> str:
        into = cache / "jars" / self.name
        found = resolve((*self.artifacts, _LOGS), into, transitive=True)
        return ":".join(str(jar) for jar in found)

    def _classes(self, cache: Path) -> Path:
        text = b"".join(source.read_bytes() for source in self.sources)
        return cache / "peers" / f"{self.name}-{hashlib.sha256(text).hexdigest()[:12]}"
