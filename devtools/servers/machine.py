"""A machine with its own file system: processes in a mount namespace.

Its processes see the installed programs of the host, read-only: Python, Java, and the packages of
this environment. Instead of this project's folder, HOME and /tmp, they see folders of their own
machine. The network is the host's, and each machine has its own loopback address. Processes run as
root here, or as root of a user namespace.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from devtools.spark_classes import archive
from kstreams.spark.startup.java import java_home

__all__ = ("Machine", "why_no_machines")

ROOT = Path(__file__).parents[2]
_HIDDEN = (ROOT, Path.home(), Path("/tmp"))  # noqa: S108  # the folder itself
_SET_UP = Path(__file__).with_name("machine.sh")
_UNSHARE = ("unshare", "--mount", *(() if os.geteuid() == 0 else ("--map-root-user",)))


@cache
def why_no_machines() -> str:
    """Return the reason why this system does not allow mount namespaces; empty if it does."""
    try:
        done = subprocess.run(
            [*_UNSHARE, "mount", "-t", "tmpfs", "none", "/mnt"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as exc:
        return f"no unshare: {exc}"
    return f"no mount namespaces: {done.stderr.strip()}" if done.returncode else ""


class Machine:
    """One machine, which exists as long as its folder.

    Args:
        name: The name of the machine.
        folder: An empty folder for its HOME and /tmp.
        address: A unique loopback address: 127.0.0.2 or higher.
        environment: The folder of a virtual environment, which is copied to `~/env`.
    """

    def __init__(self, name: str, folder: Path, address: str, environment: Path) -> None:
        self.name = name
        self.address = address
        self._folder = folder
        for part in ("home", "tmp"):
            (folder / part).mkdir(parents=True)
        shutil.copytree(environment, self.path("env"), symlinks=True)

    @property
    def python(self) -> str:
        """The Python of its environment, as a path on the machine."""
        return str(Path.home() / "env" / "bin" / "python")

    def path(self, name: str) -> Path:
        """Return the path of this machine's `~/name` on the host."""
        return self._folder / "home" / name

    def here(self, name: str) -> str:
        """Return the path of `~/name` on the machine."""
        return str(Path.home() / name)

    def run(
        self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a process on the machine, in a new session.

        Args:
            command: The command line, with paths on the machine.
            log: A file on the host, to which the output is appended.
            environment: Variables in addition to those of the machine.
        """
        with log.open("ab") as file:
            return subprocess.Popen(
                self.command(command),
                env={**self._environment(), **(environment or {})},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    def command(self, command: Sequence[str]) -> list[str]:
        """Return the command line that runs a command on the machine, without a child process."""
        hidden, kept = _listed(_HIDDEN), _listed(_kept())
        return [*_UNSHARE, "sh", str(_SET_UP), str(self._folder), hidden, kept, *command]

    def _environment(self) -> dict[str, str]:
        """Return the environment variables of its processes, without those of this project."""
        spark = Path(sysconfig.get_path("purelib")) / "pyspark"
        path = [str(Path(self.python).parent), str(spark / "bin"), os.environ["PATH"]]
        return {
            "PATH": os.pathsep.join(path),
            "HOME": str(Path.home()),
            "LANG": "C.UTF-8",
            "JAVA_HOME": str(java_home()),
            "SPARK_HOME": str(spark),
            "SPARK_SCALA_VERSION": "2.13",  # Spark's shell scripts set it, and workers require it
            "SPARK_LOCAL_IP": self.address,
            "PYSPARK_PYTHON": self.python,
            "PYSPARK_DRIVER_PYTHON": self.python,
        }


def _kept() -> list[Path]:
    """Return the folders that stay visible, read-only, below the hidden folders."""
    needed = [
        Path(sys.base_prefix),
        Path(sysconfig.get_path("purelib")),
        java_home(),
        *filter(None, (archive(),)),
    ]
    return [
        path
        for path in needed
        if path.exists() and any(path.is_relative_to(hidden) for hidden in _HIDDEN)
    ]


def _listed(paths: Sequence[Path]) -> str:
    return "\n".join(map(str, paths))
