"""Clean virtual environments: an empty home, and only the variables that package clients need."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from devtools.release.progress import run
from devtools.release.tools import WORK

__all__ = ("Environment", "clean_environment")

_PASSED = ("PIP_", "UV_", "SSL_", "REQUESTS_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "TMPDIR")
"""Beginnings of the variables that configure the index and the network."""

_NETWORK = (
    "check the network and `pip config list`; the logs of the local index are in build/release"
)


class Environment:
    """A virtual environment with an own, empty home.

    Attributes:
        folder: A folder for files of tests.
        python: The Python of the environment.
        variables: All environment variables of programs in it.
    """

    def __init__(self, folder: Path, index: str) -> None:
        self.folder = folder
        self.python = folder / "venv" / "bin" / "python"
        self._index = index
        passed = {name: text for name, text in os.environ.items() if name.startswith(_PASSED)}
        self.variables = {
            **passed,
            "HOME": str(folder / "home"),
            "PATH": os.pathsep.join([str(self.python.parent), "/usr/local/bin:/usr/bin:/bin"]),
            "LANG": "C.UTF-8",
            "COLUMNS": "100",
            "SPARK_LOCAL_IP": "127.0.0.1",
        }

    def install(self, requirements: Sequence[str]) -> None:
        """Install requirements with uv: those of this project from the local index alone.

        Raises:
            ReleaseError: The installation fails, or installed requirements disagree.
        """
        uv = [sys.executable, "-m", "uv", "--no-config", "--system-certs"]
        uv += ["--cache-dir", str(WORK / "cache" / "uv"), "--quiet", "pip"]
        into = ["--python", str(self.python)]
        what = f"install {' '.join(requirements)}"
        local = ["--index", self._index]
        self._client([*uv, "install", *into, *local, *requirements], what)
        self._client([*uv, "check", *into], what)

    def install_with_pip(self, requirements: Sequence[str]) -> None:
        """Install requirements as a user does, with the local index in addition.

        Raises:
            ReleaseError: The installation fails, or installed requirements disagree.
        """
        pip = [str(self.python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        options = ["--extra-index-url", self._index, "--cache-dir", str(WORK / "cache" / "pip")]
        what = f"pip install {' '.join(requirements)}"
        self._client([*pip, "install", *options, *requirements], what)
        self._client([*pip, "check"], what)

    def uninstall(self, distributions: Sequence[str]) -> None:
        """Remove distributions with pip.

        Raises:
            ReleaseError: The removal fails.
        """
        pip = [str(self.python), "-m", "pip", "uninstall", "--quiet", "--yes"]
        self._client([*pip, *distributions], f"uninstall {' '.join(distributions)}")

    def run(self, script: str, what: str) -> str:
        """Run a Python script in an empty folder, and return its output.

        Raises:
            ReleaseError: The script fails.
        """
        command = [str(self.python), "-c", script]
        return run(command, what, cwd=self.folder / "work", env=self.variables)

    def _client(self, command: Sequence[str], what: str) -> None:
        run(command, what, hint=_NETWORK, cwd=self.folder, env=self.variables)


@contextmanager
def clean_environment(
    name: str, python: Path, index: str, *, pip: bool = False
) -> Iterator[Environment]:
    """Create a virtual environment, and delete it afterwards.

    Args:
        name: The name of its folder.
        python: The Python that creates it.
        index: The address of the local index.
        pip: Whether the environment has pip.

    Raises:
        ReleaseError: Python cannot create it.
    """
    # Outside the repository, whose pyproject.toml configures programs in its folders.
    folder = Path(tempfile.mkdtemp(prefix=f"kstreams-{name}-"))
    for part in ("home", "work"):
        (folder / part).mkdir(parents=True)
    environment = Environment(folder, index)
    options = [] if pip else ["--without-pip"]
    try:
        run([python, "-m", "venv", *options, folder / "venv"], "venv", env=environment.variables)
        yield environment
    finally:
        shutil.rmtree(folder, ignore_errors=True)
