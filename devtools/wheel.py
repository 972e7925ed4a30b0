"""The library as users install it: its wheels, built and installed in a virtual environment."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

from devtools.workspace import ROOT, packages

__all__ = ("build_wheels", "installed_wheels")

_BUILD = """
import os, sys
from hatchling.build import build_wheel

for project in sys.argv[2:]:
    os.chdir(project)
    build_wheel(sys.argv[1])
"""
"""Calls the build backend of several projects in one process, as pip would."""


def build_wheels(folder: Path) -> list[Path]:
    """Build the wheels of the core and of the other packages of the workspace.

    Args:
        folder: The folder of the wheels.

    Returns:
        The wheels.
    """
    folder.mkdir(parents=True, exist_ok=True)
    projects = [ROOT, *(package.folder for package in packages())]
    _run("-c", _BUILD, str(folder), *map(str, projects))
    return sorted(folder.glob("kstreams_*.whl"))


def installed_wheels(folder: Path) -> Path:
    """Build the wheels, and install them in an environment with the dependencies of this one.

    Args:
        folder: An empty folder.

    Returns:
        The folder of the virtual environment; its Python is `bin/python`.
    """
    wheels = build_wheels(folder)
    environment = folder / "env"
    _run("-m", "venv", "--without-pip", str(environment))
    python = environment / "bin" / "python"
    options = ["--no-deps", "--offline", "--compile-bytecode"]
    _run("-m", "uv", "pip", "install", "--python", str(python), *options, *map(str, wheels))
    # A path named in a .pth file is searched, but its own .pth files, the ones of the
    # sources here among them, are not read.
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return environment


def _run(*arguments: str) -> None:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
