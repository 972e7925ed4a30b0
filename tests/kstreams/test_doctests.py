"""Runs the examples in docstrings and compares their output."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
FILES = [
    (path, folder)
    for folder, packages in (
        (ROOT, "kstreams"),
        (ROOT / "packages", "*"),
        (ROOT / "connectors", "*"),
        (ROOT / "stores", "*"),
        (ROOT / "serdes", "*"),
    )
    for path in sorted(folder.glob(f"{packages}/**/*.py"))
    if ">>> " in path.read_text()
]


@pytest.mark.parametrize(
    ("path", "folder"), FILES, ids=[str(path.relative_to(ROOT)) for path, _ in FILES]
)
def test_docstring_examples_print_documented_output(path: Path, folder: Path) -> None:
    parts = path.relative_to(folder).with_suffix("").parts
    module = import_module(".".join(parts).removesuffix(".__init__"))
    found = doctest.testmod(module, optionflags=FLAGS)
    assert (found.failed, found.attempted > 0) == (0, True)
