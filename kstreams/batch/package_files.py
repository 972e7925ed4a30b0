"""The files of user modules for executors, and the files that are excluded unless requested.

The folder of a module is often a project with keys, local settings, and version control data.
Anyone with access to an executor's disk can read the sent files. This module does not need pyspark.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from types import ModuleType

from kstreams.errors import CompileError
from kstreams.user_code import is_script, library_packages

__all__ = (
    "LeftOut",
    "PackageContents",
    "PackageFile",
    "contents_of",
    "own_folders",
    "own_packages",
)

_FOLDERS = {"node_modules": "packages of another language"}
_MADE_BY_PYTHON = "__pycache__"
_CODE = (".py", ".pyi", ".so", ".pyd")
_SECRET = re.compile(
    r"(?i).*\.(pem|key|p12|pfx|p8|ppk|jks|jceks|keystore|kdbx|gpg|env|keytab|tfstate|tfvars)"
    r"|id_(rsa|dsa|ecdsa|ed25519).*"
    r"|(credentials?|secrets?|passwords?)([._-].*)?"
    r"|(client[._-]?secret|service[._-]?account).*\.json|htpasswd|kubeconfig"
)
"""Names of files that usually hold keys or passwords; files of code are sent nevertheless."""


@dataclass(frozen=True)
class PackageFile:
    """A file for executors.

    Attributes:
        path: The path of the file.
        name: The path below the folder on the import path of executors.
        size_bytes: The size of the file.
    """

    path: Path
    name: str
    size_bytes: int


@dataclass(frozen=True)
class LeftOut:
    """A file or folder that is not sent, and the reason."""

    name: str
    why: str


@dataclass(frozen=True)
class PackageContents:
    """A top-level module or package, its files for executors, and its excluded files."""

    package: str
    files: tuple[PackageFile, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def size_bytes(self) -> int:
        """The total size of the files."""
        return sum(file.size_bytes for file in self.files)


def own_packages() -> tuple[str, ...]:
    """Return the imported top-level modules that are not installed packages.

    Modules of the standard library and of `site-packages` count as installed.
    """
    names = {name.partition(".")[0] for name in list(sys.modules)}
    roots = _installed()
    return tuple(sorted(name for name in names if _is_own(sys.modules.get(name), roots)))


def own_folders() -> tuple[str, ...]:
    """Return the folders and archives on the import path that are not installed, in order.

    The first folder is that of the script, if Python runs a script, or the current directory.
    """
    roots = _installed()
    entries = [Path(entry).resolve() for entry in sys.path]
    own = [
        str(entry)
        for entry in entries
        if entry.exists() and not any(entry.is_relative_to(root) for root in roots)
    ]
    return tuple(dict.fromkeys(own))


def contents_of(packages: Iterable[str | ModuleType]) -> tuple[PackageContents, ...]:
    """Return the files of packages for executors.

    Excluded are hidden files and folders, files with names of keys or passwords, caches, virtual
    environments, and links that lead out of the package.

    Args:
        packages: Modules or their names; the name of a submodule means its whole top-level package.
            A name with a pattern, `my_package:certs/*.pem`, also includes the files that match the
            pattern.

    Raises:
        CompileError: A package cannot be imported, or has no files.
    """
    asked: dict[str, list[str]] = {}
    for item in packages:
        text = item if isinstance(item, str) else item.__name__
        name, _, pattern = text.partition(":")
        patterns = asked.setdefault(name.partition(".")[0], [])
        patterns.extend([pattern] if pattern else [])
    return tuple(_contents(name, patterns) for name, patterns in asked.items())


def _contents(name: str, patterns: Sequence[str]) -> PackageContents:
    try:
        import_module(name)
    except ImportError as exc:
        raise CompileError(
            f"package {name!r} cannot be imported, so it cannot be sent to executors: {exc}",
            hint="name modules that the driver can import: App(..., packages=['my_package']).",
        ) from exc
    place = _place(sys.modules[name])
    if place is None:
        raise CompileError(
            f"package {name!r} has no files to send to executors",
            hint="name modules or packages with files: App(..., packages=['my_package']).",
        )
    if place.is_file():
        return PackageContents(name, (_file(place, place.name),), ())
    files: list[PackageFile] = []
    left_out: list[LeftOut] = []
    for path, why in _walk(place, place, (place,)):
        below = path.relative_to(place).as_posix()
        if not why:
            files.append(_file(path, f"{name}/{below}"))
        elif patterns and (taken := tuple(_requested_files(path, place, patterns))):
            files.extend(_file(each, f"{name}/{each.relative_to(place)}") for each in taken)
        else:
            left_out.append(LeftOut(f"{name}/{below}{'/' * path.is_dir()}", why))
    return PackageContents(name, tuple(files), tuple(left_out))


def _file(path: Path, name: str) -> PackageFile:
    return PackageFile(path, name, path.stat().st_size)


def _walk(folder: Path, root: Path, above: tuple[Path, ...]) -> Iterator[tuple[Path, str]]:
    """Yield each file and excluded folder below a folder, with the reason for its exclusion.

    The reason is empty for included files. Files that Python generates are skipped.

    Args:
        folder: The folder to walk.
        root: The folder of the package, out of which links must not lead.
        above: The resolved paths of the enclosing folders; links back to them are not followed.
    """
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name == _MADE_BY_PYTHON:
            continue
        path = Path(entry.path)
        why = _refused(entry, root)
        if why:
            yield path, why
        elif entry.is_dir():
            real = path.resolve()
            if real not in above:  # else a link that leads back
                yield from _walk(path, root, (*above, real))
        elif entry.is_file():
            yield path, ""


def _refused(entry: os.DirEntry[str], root: Path) -> str:
    """Return the reason why a file or folder is excluded; empty if it is included."""
    name = entry.name
    if entry.is_symlink() and not Path(entry.path).resolve().is_relative_to(root):
        return "a link to a file outside of the package"
    if name.startswith("."):
        return "hidden"
    if entry.is_dir():
        if os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):  # noqa: PTH110, PTH118
            return "a virtual environment"
        return _FOLDERS.get(name, "")
    if not name.endswith(_CODE) and _SECRET.fullmatch(name):
        return "keys or passwords, according to its name"
    return ""


def _requested_files(path: Path, root: Path, patterns: Sequence[str]) -> Iterator[Path]:
    """Yield the requested files in an excluded folder, or the excluded file if requested."""
    for file in sorted(path.rglob("*")) if path.is_dir() else (path,):
        below = file.relative_to(root).as_posix()
        if file.is_file() and any(fnmatchcase(below, pattern) for pattern in patterns):
            yield file


def _is_own(module: ModuleType | None, roots: Sequence[Path]) -> bool:
    if (
        module is None
        or getattr(module, "__name__", "") in ("", *library_packages())
        or is_script(module)
    ):
        return False
    place = _place(module)
    return place is not None and not any(place.is_relative_to(root) for root in roots)


def _installed() -> list[Path]:
    paths = sysconfig.get_paths()
    roots = {paths[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    site = [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
    return [Path(root).resolve() for root in (*roots, *site)]


def _place(module: ModuleType) -> Path | None:
    """Return a module's file, or its package's folder; None if it has neither."""
    file = getattr(module, "__file__", None)
    if file is not None:
        path = Path(file).resolve()
        return path.parent if path.name == "__init__.py" else path
    folders = list(getattr(module, "__path__", ()))
    return Path(folders[0]).resolve() if folders else None
