"""The modules of the library's packages, and the modules that each of them imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from devtools.workspace import ROOT, packages

__all__ = ("PACKAGES", "graph", "imported", "modules")

PACKAGES = ("kstreams", "kstreams_daemon", *sorted(each.folder.name for each in packages()))
"""The packages of the library: the core, its daemon, and the other packages of the workspace."""


@cache
def modules() -> Mapping[str, Path]:
    """Return the file of each module."""
    folders = [ROOT / "kstreams", ROOT / "kstreams_daemon", *(each.folder for each in packages())]
    return {
        _name(file.relative_to(folder.parent)): file
        for folder in folders
        for file in folder.rglob("*.py")
    }


@cache
def imported(module: str) -> frozenset[str]:
    """Return the modules that a module imports, wherever in it, of all packages."""
    return frozenset(_imported(modules()[module]))


def graph() -> dict[str, set[str]]:
    """Return the imports between modules of the library."""
    known = modules()
    return {
        name: {found for found in imported(name) if found in known and found != name}
        for name in known
    }


def _name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in modules() else node.module
