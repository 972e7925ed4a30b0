"""`docs/error-reference.md` has a complete entry for each public error class."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kstreams import errors

_PAGE = Path(__file__).parents[1] / "docs" / "error-reference.md"
_NAMES = sorted(name for name in errors.__all__ if name != "Where")
_ENTRY = re.compile(r"^### (\w+)\n(.*?)(?=^##|\Z)", re.DOTALL | re.MULTILINE)
_PARTS = re.compile(
    r"\n(?P<what>Derives from .+?)\n\n- \*\*Causes\*\*: (?P<causes>.+?)\n"
    r"- \*\*What to do\*\*: (?P<remedy>.+?)\n+",
    re.DOTALL,
)
ENTRIES = _ENTRY.findall(_PAGE.read_text())


def test_page_has_one_entry_for_each_public_error() -> None:
    assert sorted(name for name, _ in ENTRIES) == _NAMES


@pytest.mark.parametrize(("name", "text"), ENTRIES, ids=[name for name, _ in ENTRIES])
def test_entry_names_base_classes_causes_and_remedy(name: str, text: str) -> None:
    parts = _PARTS.fullmatch(text)
    assert parts is not None, text
    bases = ", ".join(f"`{base.__name__}`" for base in getattr(errors, name).__bases__)
    first, _, summary = parts["what"].partition(". ")
    assert first.replace("\n", " ") == f"Derives from {bases}"
    assert summary.endswith(".")
    assert min(len(parts[part].split()) for part in ("causes", "remedy")) >= 4


def test_names_of_errors_in_docs_are_public() -> None:
    text = (_PAGE.parent / "errors.md").read_text() + _PAGE.read_text()
    shown = set(re.findall(r"`(\w+(?:Error|Warning))`", text))
    builtins = {"KeyError", "ValueError", "RuntimeError", "LookupError", "OSError"}
    builtins |= {"ConnectionError", "PermissionError", "FileNotFoundError"}
    assert shown - builtins - {"UserWarning"} <= set(_NAMES)
