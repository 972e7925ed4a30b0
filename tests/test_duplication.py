"""No two places of the library share a longer run of code: shared code is in one place."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_FOLDERS = ("kstreams", "kstreams_daemon", "packages", "connectors", "stores", "serdes")
_FEWEST_LINES = 12
_GENERATED = "_pb2.py"

_Line = tuple[int, str]
"""The number of a line, and its text without indentation."""


def _documented(node: ast.AST) -> ast.Expr | None:
    """Return the docstring of a node, if it has one."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
        first = node.body[0]
        assert isinstance(first, ast.Expr)
        return first
    return None


def _passed_over(tree: ast.Module) -> Iterator[int]:
    """Yield the numbers of the lines of imports, docstrings, decorators and signatures.

    The body `...` of a protocol's method is a part of its signature.
    """
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            yield from range(first, max(node.body[0].lineno, node.lineno + 1))
        elif (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and node.value.value is ...
        ):
            yield node.lineno
        found = _documented(node)
        if found is not None:
            yield from range(found.lineno, (found.end_lineno or found.lineno) + 1)


def _code(source: str) -> list[_Line]:
    """Return the lines of code that count: not blank, not a comment, more than punctuation."""
    passed_over = set(_passed_over(ast.parse(source)))
    return [
        (number, text)
        for number, line in enumerate(source.splitlines(), 1)
        if number not in passed_over
        and not (text := line.strip()).startswith("#")
        and any(map(str.isalnum, text))
    ]


def _shared(files: Mapping[str, Sequence[_Line]], count: int) -> list[str]:
    """Return the pairs of places that share `count` lines or more, each pair once."""
    places = defaultdict[tuple[str, ...], list[tuple[str, int]]](list)
    for name, lines in files.items():
        for start in range(len(lines) - count + 1):
            places[tuple(text for _, text in lines[start : start + count])].append((name, start))
    found: dict[tuple[str, str, int], str] = {}
    for several in places.values():
        for index, (name, start) in enumerate(several):
            for other, at in several[index + 1 :]:
                if name == other and at - start < count:
                    continue  # overlaps itself
                one, two = files[name][start][0], files[other][at][0]
                found.setdefault((name, other, at - start), f"{name}:{one} ~ {other}:{two}")
    return list(found.values())


@pytest.mark.long
def test_no_twelve_lines_of_code_occur_twice() -> None:
    paths = sorted(path for folder in _FOLDERS for path in (_ROOT / folder).rglob("*.py"))
    files = {
        str(path.relative_to(_ROOT)): _code(path.read_text("utf-8"))
        for path in paths
        if not path.name.endswith(_GENERATED)
    }
    assert _shared(files, _FEWEST_LINES) == [], "move the code to one place that both use"


def test_duplication_check_finds_copy_and_ignores_signatures() -> None:
    body = "".join(f"    total += {number}\n" for number in range(4))
    one = f'def one(total: int) -> int:\n    """Add."""\n{body}    return total\n'
    two = (
        f"class Two:\n    def two(self, total: int, more: int) -> None:\n{body}        self.x = 1\n"
    )
    two = two.replace("    total", "        total")
    files = {"one": _code(one), "two": _code(two)}
    assert _shared(files, 4) == ["one:3 ~ two:3"]
    assert _shared(files, 5) == []
    stub = "class Api:\n" + "".join(
        f'    def m{number}(self) -> int:\n        """Return."""\n        ...\n'
        for number in range(20)
    )
    assert _shared({"one": _code(stub), "two": _code(stub)}, 2) == []
