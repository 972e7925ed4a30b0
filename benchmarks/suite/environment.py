"""Environments of peers: each peer has its own, so that its pins do not conflict with others."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.suite.peer import Unavailable
from devtools.servers.run_program import run_program

__all__ = ("installed", "packages_of", "python_of", "step")

_TIMEOUT_S = 900
_SHOWN = 400


def python_of(cache: Path, name: str) -> Path:
    """Return the Python of a peer's environment."""
    return cache / "peers" / name / "bin" / "python"


def packages_of(cache: Path, name: str) -> Path:
    """Return the folder of the packages of a peer's environment."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    return cache / "peers" / name / "lib" / version / "site-packages"


def installed(cache: Path, name: str, packages: Sequence[str]) -> None:
    """Create a Python environment with these packages, unless it exists.

    Raises:
        Unavailable: A package cannot be installed.
    """
    folder = cache / "peers" / name
    stamp = folder / "made-of"
    key = hashlib.sha256("\n".join([sys.version, *packages]).encode()).hexdigest()
    if stamp.is_file() and stamp.read_text() == key:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    step([sys.executable, "-m", "venv", str(folder)], folder.parent)
    step([str(folder / "bin" / "python"), "-m", "pip", "install", "-q", *packages], folder)
    stamp.write_text(key)


def step(
    command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> None:
    """Run one step of an installation.

    Raises:
        Unavailable: The step fails, or the program does not exist on this machine.
    """
    try:
        status, said = run_program(
            command, timeout_s=_TIMEOUT_S, folder=folder, environment=environment
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise Unavailable(str(exc)) from exc
    if status:
        last = " ".join(said.split())[-_SHOWN:]
        raise Unavailable(f"{' '.join(command[:4])} ... ended with {status}: {last}")
