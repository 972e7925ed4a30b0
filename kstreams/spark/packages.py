"""Hand the user's own modules to the executors."""

from __future__ import annotations

import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType
from typing import Literal

from pyspark.sql import SparkSession

from kstreams.errors import CompileError

__all__ = ("Packages", "own_packages", "ship")

Packages = Literal["auto"] | Sequence[str | ModuleType]
"""Names or modules to hand over; `auto` finds what the driver has imported from outside
of its environment."""

_MAX_BYTES = 100_000_000


def own_packages() -> tuple[str, ...]:
    """Return top-level modules that the driver imported, but that are not installed."""
    names = {name.partition(".")[0] for name in list(sys.modules)}
    roots = _installed()
    return tuple(sorted(name for name in names if _is_own(sys.modules.get(name), roots)))


def _is_own(module: ModuleType | None, roots: Sequence[Path]) -> bool:
    name = getattr(module, "__name__", "__main__")
    if module is None or name in ("__main__", "__mp_main__") or name in _library():
        return False
    place = _place(module)
    return place is not None and not any(place.is_relative_to(root) for root in roots)


@cache
def _library() -> frozenset[str]:
    """Return this library's own packages, which executors have, even if not in their places."""
    try:
        entries = distribution("kstreams-spark").entry_points
    except PackageNotFoundError:
        return frozenset({"kstreams"})
    return frozenset({"kstreams", *(entry.module.partition(".")[0] for entry in entries)})


def _installed() -> list[Path]:
    paths = sysconfig.get_paths()
    roots = {paths[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    site = [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
    return [Path(root).resolve() for root in (*roots, *site)]


def _place(module: ModuleType) -> Path | None:
    """Return a module's file, or its package's folder."""
    file = getattr(module, "__file__", None)
    if file is not None:
        path = Path(file).resolve()
        return path.parent if path.name == "__init__.py" else path
    folders = list(getattr(module, "__path__", ()))
    return Path(folders[0]).resolve() if folders else None


def ship(session: SparkSession, packages: Packages) -> tuple[str, ...]:
    """Send packages to all executors; return the names under which they are unpacked.

    Raises:
        CompileError: A package is not to be found, or is over 100 MB.
    """
    wanted = own_packages() if packages == "auto" else tuple(_names(packages))
    if not wanted:
        return ()
    target = Path(tempfile.mkdtemp(prefix="kstreams-packages-")) / "packages.zip"
    total = 0
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for name in wanted:
            for file, inside in _files(name):
                total += file.stat().st_size
                archive.write(file, inside)
    if total > _MAX_BYTES:
        raise CompileError(
            f"the packages {', '.join(wanted)} have {total / 1e6:.0f} MB together",
            hint="name the ones that executors need: App(..., packages=['my_package'])",
        )
    # Another name for other contents: apps of one session do not overwrite each other's.
    name = f"kstreams_packages_{sha256(target.read_bytes()).hexdigest()[:12]}"
    session.sparkContext.addArchive(f"{target}#{name}")
    return (name,)


def _names(packages: Iterable[str | ModuleType]) -> Iterable[str]:
    for item in packages:
        name = item if isinstance(item, str) else item.__name__
        yield name.partition(".")[0]


def _files(name: str) -> Iterable[tuple[Path, str]]:
    try:
        import_module(name)
    except ImportError as exc:
        raise CompileError(
            f"package {name!r} cannot be imported, so it cannot be handed to executors: {exc}",
            hint="name modules that the driver can import: App(..., packages=['my_package'])",
        ) from exc
    place = _place(sys.modules[name])
    if place is None:
        raise CompileError(f"package {name!r} has no files to hand to executors")
    if place.is_file():
        yield place, place.name
        return
    for file in sorted(place.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file, str(Path(name) / file.relative_to(place))
