"""The virtual environment of a Python and a PySpark: locked packages, except the chosen PySpark.

The last series of PySpark runs with the newest supported PyArrow and protobuf, the others with the
locked ones, so that both ends of these ranges are tested.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from devtools.matrix.cells import PYSPARKS, locked_pyspark
from devtools.matrix.programs import run, say
from devtools.release.progress import ReleaseError
from devtools.release.pythons import find_pythons
from devtools.workspace import ROOT, core, packages

__all__ = ("WORK", "Environment", "UnavailableError", "constraints", "own", "prepare", "supported")

WORK = ROOT / "build" / "matrix"
"""The folder of environments and logs, which git ignores."""

_TIMEOUT_S = 1800.0
_OWN_PINS = ("pyspark", "py4j")
"""Packages whose locked version another PySpark does not accept."""

_NEWEST = ("pyarrow", "protobuf")
"""Packages that have the newest supported version in the environments of the last PySpark."""

_VERSIONS = """\
import platform, google.protobuf, pyarrow, pyspark
from kstreams.spark.startup.java import java_home
release = (java_home() / "release").read_text()
java = next(line for line in release.splitlines() if line.startswith("JAVA_VERSION="))
print(platform.python_version(), pyspark.__version__, pyarrow.__version__)
print(google.protobuf.__version__, java.split('"')[1])
"""


class UnavailableError(Exception):
    """A cell has no Python or no PySpark; the text is the reason."""


class Environment(NamedTuple):
    """An environment with the project and its tests.

    Attributes:
        python: The program.
        python_version: The complete version of Python.
        pyspark_version: The complete version of PySpark.
        pyarrow_version: The version of PyArrow.
        protobuf_version: The version of protobuf.
        java_version: The version of Java.
    """

    python: Path
    python_version: str
    pyspark_version: str
    pyarrow_version: str = ""
    protobuf_version: str = ""
    java_version: str = ""

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables of its programs."""
        return {"SPARK_LOCAL_IP": "127.0.0.1", "VIRTUAL_ENV": str(self.python.parents[1])}


def prepare(python: str, pyspark: str) -> Environment:
    """Create or update the environment of a Python and a series of PySpark.

    `scripts/setup.py` installs the locked packages with their hashes, and the project. Another
    series of PySpark then replaces the locked one, without hashes; the other locked packages are
    its constraints.

    Args:
        python: The version of Python, such as `3.12`.
        pyspark: The series of PySpark, such as `4.1`.

    Raises:
        UnavailableError: The machine has no such Python, or the index has no packages for it.
    """
    try:
        program = find_pythons([python])[python]
    except ReleaseError as exc:
        raise UnavailableError(f"Python {python} is not installed on this machine") from exc
    folder = WORK / f"{python}-{pyspark}"
    log = WORK / f"{python}-{pyspark}.install.log"
    say(f"  installing; the output is in {log}")
    setup = run(
        [program, ROOT / "scripts" / "setup.py"],
        log,
        timeout_s=_TIMEOUT_S,
        variables={"KSTREAMS_VENV": str(folder)},
    )
    if setup.code != 0:
        raise UnavailableError(_why(f"the locked packages on Python {python}", setup.output))
    found = folder / "bin" / "python"
    if not locked_pyspark().startswith(f"{pyspark}."):
        _replace_pyspark(found, python, pyspark, log.with_suffix(".pyspark.log"))
    return _checked(found)


def own() -> Environment:
    """Return the environment of the repository."""
    return _checked(ROOT / ".venv" / "bin" / "python")


def constraints(lock: str, free: Collection[str] = ()) -> str:
    """Return the constraints of an installation with another PySpark: the lock without hashes.

    Args:
        lock: The text of the lock.
        free: Packages without a constraint, in addition to those of PySpark.
    """
    pins = re.findall(r"^[^\s#].*?(?=\s*\\?$)", lock, re.MULTILINE)
    kept = [pin for pin in pins if pin.split("==")[0] not in {*_OWN_PINS, *free}]
    return "".join(f"{pin}\n" for pin in kept)


def supported(package: str) -> str:
    """Return the requirement for a package, such as `pyarrow>=17,<27`, of the project's packages.

    Raises:
        StopIteration: No package of the project requires the package.
    """
    found = (each for part in (core(), *packages()) for each in part.project["dependencies"])
    return next(str(each) for each in found if re.match(rf"{package}\b(?!-)", each))


def _replace_pyspark(program: Path, python: str, pyspark: str, log: Path) -> None:
    newest = _NEWEST if pyspark == PYSPARKS[-1] else ()
    file = WORK / "constraints.txt"
    file.write_text(constraints((ROOT / "requirements" / "lock.txt").read_text(), newest))
    uv: list[str | Path] = [
        program,
        "-m",
        "uv",
        "--no-config",
        "--system-certs",
        "--cache-dir",
        WORK / "cache",
    ]
    uv += ["pip", "install", "--python", program, "--no-build-isolation", "--constraints", file]
    uv += [part for package in newest for part in ("--upgrade-package", package)]
    requirements = [f"pyspark=={pyspark}.*", *map(supported, newest)]
    ended = run([*uv, *requirements], log, timeout_s=_TIMEOUT_S)
    if ended.code != 0:
        raise UnavailableError(_why(f"pyspark {pyspark} on Python {python}", ended.output))


def _checked(program: Path) -> Environment:
    log = WORK / "versions.log"
    ended = run([program, "-c", _VERSIONS], log, timeout_s=60)
    if ended.code != 0:
        raise UnavailableError(_why("pyspark", ended.output))
    return Environment(program, *ended.output.split())


def _why(what: str, output: str) -> str:
    """Return the reason of a failed installation: the installer's own text, in one line."""
    lines = [
        re.sub(r"^[\s\u2500-\u25ff\u00d7]+|^\w+: error: ", "", line) for line in output.splitlines()
    ]
    told = " ".join(line for line in lines if line and not line.startswith(("Using ", "setup: ")))
    return f"cannot install {what}: {told[-300:].strip() or 'no output'}"
