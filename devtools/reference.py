"""Writes the tables of names in `docs/reference`: `python -m devtools.reference`.

Each page has the summary of every public name of one module, for readers of the Markdown, and the
directive with which Sphinx adds signatures and complete docstrings.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any, get_origin

from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer

PAGES = Path(__file__).parent.parent / "docs" / "reference"
INDEX = "index"
BEGIN, END = "<!-- names: begin -->", "<!-- names: end -->"
_DIRECTIVE = "\n```{eval-rst}"


def _is_type_alias(value: object) -> bool:
    return get_origin(value) is not None


_KINDS = (
    (_is_type_alias, "type"),  # before classes, because Python 3.10 takes some aliases for classes
    (inspect.isclass, "class"),
    (callable, "function"),
    (lambda _: True, "value"),
)


def main() -> None:
    """Write all pages."""
    for page in pages():
        page.write_text(with_names(page), "utf-8")


def pages() -> list[Path]:
    """Return the pages of modules."""
    return sorted(page for page in PAGES.glob("*.md") if page.stem != INDEX)


def with_names(page: Path) -> str:
    """Return the text of a page with the current names of its module."""
    text = page.read_text("utf-8")
    head, _, rest = text.partition(BEGIN) if BEGIN in text else text.partition(_DIRECTIVE)
    directive = rest.partition(END)[2] if BEGIN in text else f"{_DIRECTIVE}{rest}"
    return f"{head.rstrip()}\n\n{BEGIN}\n{names_of(page.stem)}{END}\n\n{directive.lstrip()}"


def names_of(module: str) -> str:
    """Return the introduction of a module and the table of its names."""
    found = importlib.import_module(module)
    lines = [_introduction(found), "", "| name | kind | summary |", "|---|---|---|"]
    for name in sorted(found.__all__, key=str.lower):
        value = getattr(found, name)
        kind = next(kind for is_it, kind in _KINDS if is_it(value))
        lines.append(f"| `{name}` | {kind} | {_escaped(_summary(name, value))} |")
    return "\n".join([*lines, "", ""])


def _introduction(module: Any) -> str:  # a module
    """Return the first paragraph of a module's docstring."""
    return (inspect.getdoc(module) or "").partition("\n\n")[0]


def _summary(name: str, value: object) -> str:
    """Return the first sentence of a name's documentation."""
    is_value = _is_type_alias(value) or not callable(value)
    own = _attribute_doc(name, value) if is_value else inspect.getdoc(value)
    paragraph = " ".join((own or "").partition("\n\n")[0].split())
    return re.split(r"(?<=\.) ", paragraph, maxsplit=1)[0]


def _attribute_doc(name: str, value: object) -> str:
    """Return the docstring below the assignment of a value, in the module that defines it."""
    for module in list(sys.modules.values()):
        found = getattr(module, "__name__", "")
        if not found.startswith("kstreams") or vars(module).get(name) is not value:
            continue
        try:
            lines = ModuleAnalyzer.for_module(found).find_attr_docs().get(("", name))
        except PycodeError:
            continue
        if lines:
            return "\n".join(lines)
    return f"A `{type(value).__name__}`."


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main()
