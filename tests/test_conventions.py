"""Conventions of all modules: names of loggers, ends of hints, module sizes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_FOLDERS = ("kstreams", "kstreams_daemon", "packages", "connectors", "stores", "serdes")
_SENTENCE_ENDS = (".", "?")
_TINY_LINES = 35
_MOST_TINY = 27


@cache
def _trees() -> dict[str, ast.Module]:
    files = sorted(file for folder in _FOLDERS for file in (_ROOT / folder).rglob("*.py"))
    return {str(file.relative_to(_ROOT)): ast.parse(file.read_text()) for file in files}


def _texts(node: ast.expr) -> Iterator[ast.Constant | ast.JoinedStr]:
    """Yield the last text of each value that an expression can have."""
    if isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value
    ):
        yield node
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _texts(value)


def _name(node: ast.expr) -> str:
    """Return the name of a variable, an attribute or a called function."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=function):
            return _name(function)
    return ""


def _hints(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield the expressions given as hints, and the values of variables and functions used as
    hints.
    """
    given = [
        keyword.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "hint"
    ]
    yield from given
    names = {_name(value) for value in given} | {"hint"}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named = set(map(_name, targets))
            if named & names or any(name.endswith(("HINT", "WAY_ON")) for name in named):
                yield node.value
        elif isinstance(node, ast.FunctionDef) and node.name in names:
            returned = (each for each in ast.walk(node) if isinstance(each, ast.Return))
            yield from (each.value for each in returned if each.value is not None)


def _ends_as_a_sentence(text: ast.Constant | ast.JoinedStr) -> bool:
    last = text.values[-1] if isinstance(text, ast.JoinedStr) else text
    if isinstance(last, ast.Constant):
        return str(last.value).endswith(_SENTENCE_ENDS)
    assert isinstance(last, ast.FormattedValue)
    name = _name(last.value)  # another hint, appended to the first
    return name == "hint" or name.endswith(("HINT", "WAY_ON"))


@pytest.mark.long
def test_hint_of_error_ends_like_a_sentence() -> None:
    wrong = [
        f"{file}:{text.lineno}"
        for file, tree in _trees().items()
        for hint in _hints(tree)
        for text in _texts(hint)
        if not _ends_as_a_sentence(text)
    ]
    assert wrong == []


def test_loggers_have_names_of_their_modules_below_kstreams() -> None:
    core = "_LOG = logging.getLogger(__name__)"
    package = "_LOG = logging.getLogger(__name__.replace('_', '.', 1))"  # kstreams.serve.routes
    wrong = [
        f"{file}:{node.lineno}"
        for file, tree in _trees().items()
        for node in tree.body
        if isinstance(node, ast.Assign)
        and _name(node.value) == "getLogger"
        and ast.unparse(node) != (core if file.startswith("kstreams/") else package)
    ]
    assert wrong == []


def test_number_of_very_small_modules_is_limited() -> None:
    tiny = [
        str(file.relative_to(_ROOT))
        for file in sorted(
            (*(_ROOT / "kstreams").rglob("*.py"), *(_ROOT / "packages").rglob("*.py"))
        )
        if file.name != "__init__.py" and len(file.read_text().splitlines()) < _TINY_LINES
    ]
    assert len(tiny) <= _MOST_TINY, tiny


def test_hint_line_within_text_ends_like_a_sentence() -> None:
    wrong = [
        f"{file}:{node.lineno}"
        for file, tree in _trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.search(r"^Hint: [^{]+[^.?]$", node.value, re.MULTILINE)
        and not node.value.endswith(" ")
    ]
    assert wrong == []
