"""Rules for the content of a distribution, which no general tool checks."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from email.parser import HeaderParser
from pathlib import Path

from devtools.release.progress import ReleaseError

__all__ = ("MOST_CORE_BYTES", "check_contents", "check_equal", "problems_of_wheel")

MOST_CORE_BYTES = 1_500_000
"""Largest size of the core's wheel."""

_CORE = "kstreams_spark-"
_NO_PACKAGES = re.compile(r"(^|/)(tests?|conftest\.py|test_[^/]*\.py|__pycache__|[^/]*\.pyc)(/|$)")


def check_contents(distributions: Iterable[Path], version: str) -> None:
    """Check each wheel and source distribution.

    Args:
        distributions: The files.
        version: The version that each of them must have.

    Raises:
        ReleaseError: A file breaks a rule; the error lists all problems.
    """
    problems: list[str] = []
    for path in distributions:
        found = problems_of_wheel(path, version) if path.suffix == ".whl" else _of_sdist(path)
        problems += [f"{path.name}: {problem}" for problem in found]
    if problems:
        raise ReleaseError(
            "\n".join(["wrong content of distributions", *problems]),
            "see [tool.hatch.build] in the pyproject.toml of the package",
        )


def problems_of_wheel(wheel: Path, version: str) -> Iterator[str]:
    """Yield the broken rules of a wheel: type marker, license, tests, version, text, size."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (about,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = HeaderParser().parsestr(archive.read(about).decode())
    info = about.partition("/")[0]
    for package in sorted({name.partition("/")[0] for name in names} - {info}):
        if f"{package}/py.typed" not in names:
            yield f"{package} has no py.typed"
    if f"{info}/licenses/LICENSE" not in names:
        yield "there is no LICENSE"
    yield from (f"{name} is no part of a package" for name in names if _NO_PACKAGES.search(name))
    if metadata["Version"] != version:
        yield f"its version is {metadata['Version']}, expected {version}"
    if metadata["License-Expression"] is None:
        yield "its metadata has no license"
    if not str(metadata.get_payload()).strip():
        yield "its metadata has no description for the page on an index"
    size = wheel.stat().st_size
    if wheel.name.startswith(_CORE) and size > MOST_CORE_BYTES:
        yield f"the size is {size:,} bytes, expected at most {MOST_CORE_BYTES:,}"


def _of_sdist(path: Path) -> Iterator[str]:
    folder = path.name.removesuffix(".tar.gz")
    with tarfile.open(path) as archive:
        names = set(archive.getnames())
    for name in ("LICENSE", "PKG-INFO", "pyproject.toml"):
        if f"{folder}/{name}" not in names:
            yield f"there is no {name}"


def check_equal(first: Path, second: Path) -> int:
    """Check that two folders have the same files, byte for byte, and return their number.

    Raises:
        ReleaseError: The folders differ; the error lists the files.
    """
    names = {path.name for folder in (first, second) for path in folder.iterdir()}
    different = [name for name in sorted(names) if _bytes(first / name) != _bytes(second / name)]
    if different:
        raise ReleaseError(
            "\n".join(["two builds of one commit differ", *different]),
            "compare the files with diffoscope; a build must not use the time or the machine",
        )
    return len(names)


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None
