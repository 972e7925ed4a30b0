"""Public modules listed in docs/README.md, parsed without an import."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

__all__ = ("FACES", "ROOT", "SOURCES", "file_of", "home_of", "names_of", "tree_of")

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT, ROOT / "packages", ROOT / "connectors", ROOT / "stores", ROOT / "serdes"]

FACES = re.findall(
    r"^\| `(kstreams[\w.]*)` \|", (ROOT / "docs/README.md").read_text(), re.MULTILINE
)
"""The public modules of the library."""


def file_of(module: str) -> Path:
    """Return the file of a module of this repository."""
    for folder in SOURCES:
        path = folder.joinpath(*module.split("."))
        for file in (path / "__init__.py", path.with_suffix(".py")):
            if file.exists():
                return file
    raise LookupError(module)


@cache
def tree_of(module: str) -> ast.Module:
    """Return the syntax of a module."""
    return ast.parse(file_of(module).read_text())


@cache
def names_of(module: str) -> tuple[str, ...]:
    """Return the names in the `__all__` of a module."""
    for node in tree_of(module).body:
        if isinstance(node, ast.Assign) and "__all__" in map(ast.unparse, node.targets):
            found: tuple[str, ...] = ast.literal_eval(node.value)
            return found
    return ()


@cache
def home_of(module: str, name: str) -> tuple[str, str]:
    """Return module and name of the definition behind a public name."""
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name and node.module:
                    ours = node.module.split(".")[0].startswith("kstreams")
                    return home_of(node.module, alias.name) if ours else (node.module, alias.name)
    return module, name
