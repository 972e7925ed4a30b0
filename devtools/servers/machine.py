"""
A machine of its own, as far as its file system goes: processes in a mount namespace.

What they see of this one is what is installed on it: Python, Java, the packages of this
environment, read-only. In place of this project's folder, of HOME and of /tmp they have
folders that no other machine has. The network is the host's, each machine has an address
of its own on loopback. Processes run as root here, or as root of a user namespace.
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
from kstreams.spark.java import java_home

__all__ = ("Machine", "why_no_machines")

ROOT = Path(__file__).parents[2]
_HIDDEN = (ROOT, Path.home(), Path("/tmp"))  # noqa: S108  # the folder itself
_SET_UP = Path(__file__).with_name("machine.sh")
_UNSHARE = ("unshare", "--mount", *(() if os.geteuid() == 0 else ("--map-root-user",)))


@cache
def why_no_machines() -> str:
    """Return why this system lets nobody make a mount namespace; empty where it does."""
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
    """
    One machine; it is there as long as its folder.

    Args:
        name: What it is called.
        folder: An empty one, for its HOME and /tmp.
        address: Of loopback: 127.0.0.2 or later, not another machine's.
        environment: A folder of a virtual environment, which it gets a copy of, `~/env`.

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
        """The Python of its environment, as its processes name it."""
        return str(Path.home() / "env" / "bin" / "python")

    def path(self, name: str) -> Path:
        """Return where this machine's `~/name` is on the host."""
        return self._folder / "home" / name

    def here(self, name: str) -> str:
        """Return `~/name` as the machine's processes name it."""
        return str(Path.home() / name)

    def run(
        self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """
        Start a process on it, in a session of its own.

        Args:
            command: Its command line, as the machine names files.
            log: On the host; what it says goes behind this.
            environment: Variables besides those of the machine.

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
        """Return what runs a command on it; it becomes this process, no child."""
        hidden, kept = _listed(_HIDDEN), _listed(_kept())
        return [*_UNSHARE, "sh", str(_SET_UP), str(self._folder), hidden, kept, *command]

    def _environment(self) -> dict[str, str]:
        """Return the variables of its processes; nothing of this project's is among them."""
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
    """Return what is seen, read-only, below the folders that are not."""
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
