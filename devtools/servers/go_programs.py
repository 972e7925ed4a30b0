"""Programs from Go modules, built once per machine into the library's cache.

Requires the Go compiler; modules come from its configured proxy.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from devtools.servers.made_once import made_once
from devtools.servers.process import NoServerError
from kstreams.files import cache_folder

__all__ = ("go_program",)

_WITHIN_S = 900


def go_program(name: str, package: str, version: str) -> str:
    """Return the path of a program, building it from its package at the first call.

    Args:
        name: The name of the program.
        package: The Go package to build.
        version: The version of its module.

    Raises:
        NoServerError: Go is not installed, or the module cannot be downloaded.
    """
    program = cache_folder() / "servers" / f"go-{name}-{version}" / name
    return str(made_once(program, partial(_build, f"{package}@{version}", program)))


def _build(package: str, program: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise NoServerError(f"Go is not installed, so {program.name} cannot be built")
    with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
        command = [go, "install", "-p", "2", "-trimpath", "-ldflags=-s -w", package]
        done = subprocess.run(
            ["nice", *command],
            env={**os.environ, "GOBIN": scratch, "GOFLAGS": "-mod=mod"},
            capture_output=True,
            text=True,
            timeout=_WITHIN_S,
            check=False,
        )
        if done.returncode:
            raise NoServerError(f"go install {package} failed: {done.stderr.strip()[-500:]}")
        Path(scratch, program.name).rename(program)
