"""The Python versions of this machine on which a release is tried."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from devtools.release.progress import ReleaseError, say

__all__ = ("VERSIONS", "find_pythons")

VERSIONS = ("3.10", "3.11", "3.12", "3.13")
"""The supported versions, as in the classifiers of the core."""

_ASK = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2], sys.executable)"


def find_pythons(chosen: Sequence[str] = ()) -> dict[str, Path]:
    """Return a Python of each version that is on PATH or installed by pyenv, by version.

    Args:
        chosen: The required versions. Without them, missing versions are printed.

    Raises:
        ReleaseError: A required version, or every version, is missing.
    """
    found: dict[str, Path] = {}
    for version in chosen or VERSIONS:
        for candidate in _candidates(version):
            if path := _executable(candidate, version):
                found[version] = path
                break
    missing = [version for version in chosen or VERSIONS if version not in found]
    if missing and (chosen or not found):
        raise ReleaseError(
            f"no Python {', '.join(missing)} with the module venv is on this machine",
            f"install it, or choose another one with --python: {', '.join(VERSIONS)}",
        )
    if missing:
        say(f"no Python {', '.join(missing)} on this machine: not tried")
    return found


def _candidates(version: str) -> Iterator[Path]:
    for folder in sorted(Path.home().glob(f".pyenv/versions/{version}.*"), reverse=True):
        yield folder / "bin" / "python"
    if name := shutil.which(f"python{version}"):
        yield Path(name)


def _executable(candidate: Path, version: str) -> Path | None:
    """Return the program of a Python; None if it does not start or has another version."""
    try:
        done = subprocess.run(
            [str(candidate), "-I", "-c", _ASK],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    told, _, program = done.stdout.strip().partition(" ")
    return Path(program) if told == version else None
