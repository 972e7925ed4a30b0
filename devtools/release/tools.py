"""The tools of a release, in an environment of their own: `requirements/release.txt`."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from devtools.release.progress import ReleaseError, run, step
from devtools.workspace import ROOT

__all__ = ("WORK", "check_metadata", "tool")

WORK = ROOT / "build" / "release"
"""The folder of everything that a release makes, except `dist/`."""

_LOCK = ROOT / "requirements" / "release.txt"


def tool(name: str) -> Path:
    """Return a program of the tools, and install them if they are missing or another lock's.

    Raises:
        ReleaseError: The installation fails, or the program is none of the tools.
    """
    folder = WORK / "tools"
    stamp = folder / "lock.sha256"
    digest = hashlib.sha256(_LOCK.read_bytes() + sys.version.encode()).hexdigest()
    if not stamp.exists() or stamp.read_text() != digest:
        with step("install the tools of requirements/release.txt"):
            shutil.rmtree(folder, ignore_errors=True)
            run([sys.executable, "-m", "venv", folder], "tools")
            pip: list[str | Path] = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
            run(
                [*pip, "--require-hashes", "--requirement", _LOCK],
                "tools",
                hint="check the network and `pip config list`",
            )
            stamp.write_text(digest)
    program = folder / "bin" / name
    if not program.exists():
        raise ReleaseError(f"{name} is not a tool in {_LOCK.name}", "add it to the group `release`")
    return program


def check_metadata(distributions: Iterable[Path]) -> None:
    """Check the distributions with twine and check-wheel-contents.

    Raises:
        ReleaseError: A tool has a complaint; the error has its output.
    """
    paths = sorted(distributions)
    run([tool("twine"), "check", "--strict", *paths], "twine")
    wheels = [path for path in paths if path.suffix == ".whl"]
    # W002: files such as py.typed are equal. W009: the core has two packages.
    run([tool("check-wheel-contents"), "--ignore", "W002,W009", *wheels], "check-wheel-contents")
