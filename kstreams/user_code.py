"""User code: scripts, and frames in tracebacks."""

from __future__ import annotations

import re
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from types import ModuleType

from kstreams.quoting import kind_of, safe_end

__all__ = (
    "is_script",
    "library_distributions",
    "library_folders",
    "library_packages",
    "runpy_scripts",
    "user_traceback_of",
)

_MAIN = ("__main__", "__mp_main__")

_SAME_VERSION = re.compile(r"(kstreams-[\w-]+)(\[[\w,-]+\])?==")
"""A requirement of `kstreams-spark` on a package that has the same version."""
_MOST = 30_000
"""The maximum number of characters of a traceback."""


def user_traceback_of(exc: BaseException) -> str:
    """Return the traceback of an exception in user code, without frames of the library.

    The text has the frames of the user's modules, and the innermost frame if it belongs to another
    package that the user calls. If no frame is the user's, the text has all frames, because the
    library failed. Causes are treated the same way.
    """
    try:
        shown = traceback.TracebackException(type(exc), exc, exc.__traceback__)
        _shorten(shown, set())
        text = "".join(shown.format()).rstrip()
    except Exception as failure:  # noqa: BLE001  # the user's exception class may fail
        return f"(the traceback cannot be formatted: {kind_of(failure)})"
    if len(text) > _MOST:
        _, begin, end = text[-_MOST:].partition("\n  File ")
        text = f"…{begin}{end}"
    return safe_end(text, _MOST)


def is_script(module: ModuleType) -> bool:
    """Return whether a module is a running program that other processes cannot import.

    Examples are a script, a notebook, and a program of `runpy.run_path`.
    """
    name = module.__name__
    if name in _MAIN:
        return True
    if getattr(module, "__spec__", None) is not None or "." in name:
        return False
    return bool(getattr(module, "__file__", None)) and PathFinder.find_spec(name) is None


def runpy_scripts() -> Iterator[ModuleType]:
    """Yield running scripts that are not `__main__`, such as those of `runpy.run_path`."""
    modules: list[tuple[str, object]] = list(sys.modules.items())
    for name, module in modules:
        if name not in _MAIN and isinstance(module, ModuleType) and is_script(module):
            yield module


@cache
def library_packages() -> frozenset[str]:
    """Return the names of this library's own packages and of its plugins."""
    plugins = (name.replace("-", "_") for name in library_distributions())
    return frozenset({"kstreams", *plugins})


@cache
def library_distributions() -> frozenset[str]:
    """Return the names for pip of this library's plugins and other packages except the core.

    The names are the same whether the packages are installed or not.
    """
    try:
        required = requires("kstreams-spark") or ()
    except PackageNotFoundError:
        return frozenset()
    return frozenset(match[1] for match in map(_SAME_VERSION.match, required) if match)


def _shorten(shown: traceback.TracebackException, seen: set[int]) -> None:
    """Remove library frames from an exception and from its causes."""
    if id(shown) in seen:
        return
    seen.add(id(shown))
    shown.stack[:] = _kept(shown.stack)
    for other in (shown.__cause__, shown.__context__, *(getattr(shown, "exceptions", None) or ())):
        if other is not None:
            _shorten(other, seen)


def _kept(frames: list[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    kinds = [_owner(frame.filename) for frame in frames]
    if "user" not in kinds:
        return frames
    last = len(frames) - 1
    return [
        frame
        for number, (frame, kind) in enumerate(zip(frames, kinds, strict=True))
        if kind == "user" or (number == last and kind == "installed")
    ]


def _owner(file: str) -> str:
    """Return the owner of a file's code: `user`, `installed` (another package) or `library`."""
    if file.startswith("<frozen "):
        return "installed"
    path = Path(file)
    if any(path.is_relative_to(root) for root in library_folders()):
        return "library"
    return "installed" if any(path.is_relative_to(root) for root in _installed()) else "user"


def library_folders() -> list[Path]:
    """Return the folders of those packages of the library that are imported."""
    modules = (sys.modules.get(name) for name in library_packages())
    return [Path(module.__file__).parent for module in modules if module and module.__file__]


@cache
def _installed() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    return tuple(Path(paths[kind]) for kind in ("stdlib", "platstdlib", "purelib", "platlib"))
