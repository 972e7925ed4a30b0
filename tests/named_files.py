"""Files and tests that documentation pages name, and whether they exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

__all__ = ("ROOT", "missing_files", "missing_folders", "missing_links", "missing_tests")

ROOT = Path(__file__).parents[1]

_PLACES = (ROOT, ROOT / "kstreams", ROOT / "tests" / "kstreams")
"""The folders that a named path may be below."""

_FILE = re.compile(r"`([\w./-]+\.(?:py|c))`")
_FOLDER = re.compile(r"`([\w/]+/)`")
_TEST = re.compile(r"`(test_\w+)`")
_LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
_DEFINED = re.compile(r"^ *(?:async )?def (test_\w+)\(", re.MULTILINE)


def missing_files(text: str) -> set[str]:
    """Return the named source files that do not exist."""
    named = _FILE.findall(text)
    return {name for name in named if not any((place / name).is_file() for place in _PLACES)}


def missing_folders(text: str) -> set[str]:
    """Return the named folders that do not exist."""
    named = _FOLDER.findall(text)
    return {name for name in named if not any((place / name).is_dir() for place in _PLACES)}


def missing_tests(text: str) -> set[str]:
    """Return the named test functions that do not exist."""
    named = set(_TEST.findall(text))
    return named - _tests() if named else named


def missing_links(page: Path) -> set[str]:
    """Return the relative links of a page that lead to no file."""
    targets = _LINK.findall(page.read_text("utf-8"))
    local = {target for target in targets if not target.startswith(("http://", "https://"))}
    return {target for target in local if not (page.parent / target).exists()}


@cache
def _tests() -> frozenset[str]:
    files = (ROOT / "tests").rglob("test_*.py")
    return frozenset(name for file in files for name in _DEFINED.findall(file.read_text("utf-8")))
