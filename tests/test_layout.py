"""How the code is laid out: no file is long, and each module says what it offers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = ("kstreams", "kstreams_daemon", "packages", "connectors", "stores", "serdes")
MOST_LINES = 400


def _files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def _lines(path: Path) -> int:
    return path.read_text().count("\n")


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_no_file_is_longer_than_a_reader_bears() -> None:
    folders = (*LIBRARY, "tests", "benchmarks", "devtools", "examples", "scripts")
    long = {_name(path): n for path in _files(*folders) if (n := _lines(path)) > MOST_LINES}
    assert not long, f"over {MOST_LINES} lines: divide by idea"


def _offered(tree: ast.Module) -> tuple[set[str], set[str] | None]:
    """Return a module's public definitions but type variables, and `__all__` if there is one."""
    found: set[str] = set()
    named: set[str] | None = None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            names = {each.id for each in node.targets if isinstance(each, ast.Name)}
            if "__all__" in names:
                named = set(ast.literal_eval(node.value))
            elif not _is_type_variable(node.value):
                found |= names
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return {name for name in found if not name.startswith("_")}, named


def _is_type_variable(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id in {"TypeVar", "ParamSpec"}
    )


@pytest.mark.parametrize("folder", LIBRARY)
def test_each_module_names_all_that_it_offers(folder: str) -> None:
    lacking = {}
    for path in _files(folder):
        if path.name.endswith("_pb2.py"):
            continue  # protoc writes it
        offered, named = _offered(ast.parse(path.read_text()))
        if offered and (missing := offered - (named or set())):
            lacking[_name(path)] = sorted(missing)
    assert not lacking, "add the name to __all__, or begin it with an underscore"
