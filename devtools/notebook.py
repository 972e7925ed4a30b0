"""Writes the notebook of the tutorial, docs/tutorial.ipynb, from docs/tutorial.md.

    python -m devtools.notebook

Files of the page become `%%writefile` cells, commands become `!` cells. A comment `<!-- notebook:`
in the page contains a cell that only the notebook has, such as a drawing of a topology.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from devtools.workspace import ROOT

__all__ = ("NOTEBOOK", "PAGE", "SET_UP", "cells_of", "notebook_of")

PAGE = ROOT / "docs" / "tutorial.md"
NOTEBOOK = PAGE.with_suffix(".ipynb")
SET_UP = "set-up"
"""The tag of the cell that installs packages."""
_PART = re.compile(
    r"^<!-- file: (?P<file>\S+) -->\n```\w+\n(?P<code>.*?)^```\n|"
    r"^```console\n(?P<console>.*?)^```\n|"
    r"^<!-- notebook:\n(?P<cell>.*?)^-->\n",
    re.DOTALL | re.MULTILINE,
)
_ENVIRONMENT = ("python -m venv", ". .venv")


def cells_of(page: str) -> Iterator[dict[str, Any]]:
    """Yield the cells of a notebook with the content of a page."""
    end = 0
    for part in _PART.finditer(page):
        yield from _prose(page[end : part.start()])
        end = part.end()
        if part["file"]:
            yield _code(f"%%writefile {part['file']}\n{part['code']}")
        elif part["cell"]:
            yield _code(part["cell"])
        else:
            typed = re.findall(r"^\$ (.*)$", part["console"], re.MULTILINE)
            yield from map(_command, (each for each in typed if not each.startswith(_ENVIRONMENT)))
    yield from _prose(page[end:])


def notebook_of(page: str) -> str:
    """Return the notebook of a page as the text of its file; equal pages give equal bytes."""
    cells = [{"id": f"cell-{number:03}", **cell} for number, cell in enumerate(cells_of(page))]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    content = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _prose(text: str) -> Iterator[dict[str, Any]]:
    if text.strip():
        lines = text.strip().splitlines(keepends=True)
        yield {"cell_type": "markdown", "metadata": {}, "source": lines}


def _command(line: str) -> dict[str, Any]:
    if line.startswith("pip install"):
        return _code(f"%{line}", SET_UP)
    return _code(f"!{line}")


def _code(source: str, *tags: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"tags": list(tags)} if tags else {},
        "outputs": [],
        "source": source.strip("\n").splitlines(keepends=True),
    }


def main() -> None:
    """Write the notebook."""
    NOTEBOOK.write_text(notebook_of(PAGE.read_text()))


if __name__ == "__main__":
    main()
