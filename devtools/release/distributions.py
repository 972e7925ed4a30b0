"""The wheels and source distributions of a release, built by the locked backend (PEP 517).

Each wheel is built from the unpacked source distribution, as pip does it on a platform without a
wheel: a file that the source distribution lacks cannot be in the wheel.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

from devtools.release.progress import ReleaseError, run, step
from devtools.release.source import Source
from devtools.workspace import ROOT

__all__ = ("PLATFORMS", "build", "this_platform")

ZIG = ROOT / "build" / "ziglang"
"""Folder of the compiler of `native/`; `make dist` installs it."""

PLATFORMS = (
    "manylinux_2_17_x86_64",
    "manylinux_2_17_aarch64",
    "musllinux_1_2_x86_64",
    "musllinux_1_2_aarch64",
    "macosx_11_0_x86_64",
    "macosx_11_0_arm64",
)
"""The platforms with wheels of the compiled loops, as in `native/compile_kernel.py`."""

_BUILD = """
import os, sys, tarfile
from hatchling.build import build_sdist, build_wheel

dist, scratch, *projects = sys.argv[1:]
for number, project in enumerate(projects):
    os.chdir(project)
    sdist = build_sdist(dist)
    place = os.path.join(scratch, str(number))
    with tarfile.open(os.path.join(dist, sdist)) as archive:
        archive.extractall(place, filter="data")
    os.chdir(os.path.join(place, sdist.removesuffix(".tar.gz")))
    build_wheel(dist)
"""
"""Calls the hooks of the build backend for several projects in one process."""

_WHEEL = """
import os, sys
from hatchling.build import build_wheel

dist, project = sys.argv[1:]
os.chdir(project)
build_wheel(dist)
"""


def build(source: Source, dist: Path, platforms: Sequence[str]) -> list[Path]:
    """Build all wheels and source distributions.

    Args:
        source: The files of a commit.
        dist: The folder of the results; its earlier content is deleted.
        platforms: The platforms of the wheels of the compiled loops.

    Returns:
        The results, sorted.

    Raises:
        ReleaseError: A build fails, or there is no compiler.
    """
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir(parents=True)
    *plain, native = source.projects()
    first, *others = platforms
    with step(f"build {len(plain) + 1} source distributions and wheels"):
        _run(source, _BUILD, dist, plain)
        _run(source, _BUILD, dist, [native], first)
    for platform in others:
        with step(f"build the compiled loops for {platform}"):
            run(
                [sys.executable, "-c", _WHEEL, dist, native],
                "build",
                env=_environment(source, platform),
            )
    for extra in dist.glob(".gitignore"):  # hatchling writes one
        extra.unlink()
    return sorted(dist.iterdir())


def this_platform() -> str:
    """Return the platform of this machine.

    Raises:
        ReleaseError: There are no wheels for it.
    """
    system, _, machine = sysconfig.get_platform().partition("-")
    if system == "macosx":
        machine = machine.rpartition("-")[2]
    family = {"linux": "manylinux", "macosx": "macosx"}.get(system, "")
    for platform in PLATFORMS:
        if family and platform.startswith(family) and platform.endswith(f"_{machine}"):
            return platform
    raise ReleaseError(
        f"no wheels are made on {system} {machine}", f"build on one of {', '.join(PLATFORMS)}"
    )


def _run(
    source: Source, script: str, dist: Path, projects: Sequence[Path], platform: str = ""
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        run(
            [sys.executable, "-c", script, dist, scratch, *projects],
            "build",
            env=_environment(source, platform),
        )


def _environment(source: Source, platform: str) -> dict[str, str]:
    """Return the variables of a build that two machines have in common.

    Raises:
        ReleaseError: A platform is given, and its compiler is missing.
    """
    found = {"SOURCE_DATE_EPOCH": str(source.epoch), "PYTHONHASHSEED": "0", "LC_ALL": "C"}
    found |= {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    if platform:
        if not (ZIG / "ziglang").exists():
            raise ReleaseError("the compiler ziglang is not installed", "run `make dist`")
        found |= {"KSTREAMS_WHEEL_PLATFORM": platform, "PYTHONPATH": str(ZIG)}
    return found
