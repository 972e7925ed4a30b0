"""Prints random texts to read without their code: `python -m devtools.prose_sample [PATH...]`.

A reader who does not know the code judges each text. Texts of errors have the expressions of their
placeholders and, after a `|`, their hint. Docstrings follow the name of their module, class or
function. The same seed prints the same texts.
"""

from __future__ import annotations

import argparse
import ast
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from devtools.prose import PATHS, ROOT, Text, files, texts

__all__ = ("main", "sample")

_KINDS = {"errors": "error", "tests": "test name", "docstrings": "docstring"}
_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def sample(paths: Iterable[Path], kind: str, count: int, seed: int) -> list[Text]:
    """Return random texts of Python files, in the order of files and lines.

    Args:
        paths: Files and folders.
        kind: `errors`, `tests` or `docstrings`.
        count: Number of texts; fewer if the files have fewer.
        seed: Seed of the random choice.
    """
    modules = [path for path in files(paths) if path.suffix == ".py"]
    found = [text for path in modules for text in _texts(path, kind)]
    chosen = random.Random(seed).sample(range(len(found)), min(count, len(found)))  # noqa: S311  # not a secret
    return [found[number] for number in sorted(chosen)]


def _texts(path: Path, kind: str) -> Iterator[Text]:
    if kind == "errors":
        yield from _errors(path)
    elif kind == "docstrings":
        yield from _docstrings(path)
    else:
        yield from (text for text in texts(path) if text.kind == _KINDS[kind])


def _docstrings(path: Path) -> Iterator[Text]:
    """Yield the docstrings of a module, each after the name of its module, class or function."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, _Documented) and (words := ast.get_docstring(node)):
            name = path.stem if isinstance(node, ast.Module) else node.name
            yield Text(path, node.body[0].lineno, "docstring", f"{name}: {words}")


def _errors(path: Path) -> Iterator[Text]:
    """Yield the message and the hint of each raised or created error as one text."""
    tree = ast.parse(path.read_text("utf-8"))
    raised = {id(node.exc) for node in ast.walk(tree) if isinstance(node, ast.Raise)}
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        named = [each.value for each in call.keywords if each.arg in ("message", "hint")]
        given = [*call.args, *named] if id(call) in raised or named else []
        words = [shown for each in given if (shown := _shown(each))]
        if any(" " in each for each in words):
            yield Text(path, call.lineno, "error", " | ".join(words))


def _shown(node: ast.expr) -> str:
    """Return a string expression as text, with placeholders; empty if it has no string."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_shown(each) for each in parts)
        case ast.FormattedValue(value=value):
            return f"{{{ast.unparse(value)}}}"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _shown(left) + _shown(right)
        case ast.Name(id=name):
            return f"{{{name}}}"
        case _:
            return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a random sample of texts, each with its file and line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, help="files and folders; default: all")
    parser.add_argument("--kind", choices=_KINDS, default="errors", help="default: errors")
    parser.add_argument("--count", type=int, default=100, help="number of texts; default: 100")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random choice; default: 0")
    given = parser.parse_args(arguments)
    paths = given.paths or [ROOT / name for name in PATHS]
    for text in sample(paths, given.kind, given.count, given.seed):
        path = text.path.relative_to(ROOT) if text.path.is_relative_to(ROOT) else text.path
        print(f"{path}:{text.line}: {text.words.strip()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
