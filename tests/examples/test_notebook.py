"""The notebook of the tutorial has the content of the page, and all its cells run."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from devtools.notebook import NOTEBOOK, PAGE, SET_UP, cells_of, notebook_of
from devtools.page_steps import Command, File, steps_of

_COLOR = re.compile(r"\x1b\[[0-9;]*m")


def test_notebook_is_the_one_that_the_page_gives() -> None:
    assert NOTEBOOK.read_text() == notebook_of(PAGE.read_text()), "run python -m devtools.notebook"


def test_notebook_has_the_files_and_commands_of_the_page() -> None:
    sources = ["".join(cell["source"]) for cell in cells_of(PAGE.read_text())]
    for step in steps_of(PAGE):
        match step:
            case File(name, text):
                assert f"%%writefile {name}\n{text}".strip() in sources
            case Command(line) if not line.startswith(("python -m venv", ". ", "pip")):
                assert f"!{line}" in sources
            case _:
                pass


def test_notebook_has_the_text_of_the_page() -> None:
    cells = [cell for cell in cells_of(PAGE.read_text()) if cell["cell_type"] == "markdown"]
    text = "\n".join("".join(cell["source"]) for cell in cells)
    for heading in re.findall(r"^#+ .*$", PAGE.read_text(), re.MULTILINE):
        assert heading in text
    assert "<!--" not in text


def test_cells_of_a_page_keep_their_order() -> None:
    page = (
        "# Title\n\n```console\n$ pip install a\n$ run it\nshown\n```\n\nText.\n\n"
        "<!-- file: a.py -->\n```python\nx = 1\n```\n\n<!-- notebook:\nx\n-->\nEnd.\n"
    )
    found = [("".join(cell["source"]), cell["metadata"]) for cell in cells_of(page)]
    assert found == [
        ("# Title", {}),
        ("%pip install a", {"tags": [SET_UP]}),
        ("!run it", {}),
        ("Text.", {}),
        ("%%writefile a.py\nx = 1", {}),
        ("x", {}),
        ("End.", {}),
    ]


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(400)
@pytest.mark.filterwarnings("default")  # of Jupyter's own packages
def test_notebook_runs_and_draws_topologies_and_a_changing_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]  # untyped
    notebook.cells = [
        cell for cell in notebook.cells if SET_UP not in cell.metadata.get("tags", ())
    ]
    client = NotebookClient(notebook, timeout=200, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()

    outputs = {cell.source: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}
    for step in steps_of(PAGE):
        if isinstance(step, Command) and f"!{step.line}" in outputs:
            printed = _COLOR.sub(
                "", "".join(each.get("text", "") for each in outputs[f"!{step.line}"])
            )
            assert [line for line in step.shown if line not in printed] == [], step.line
    drawn = [text for found in outputs.values() for text in data_of(found, "text/vnd.mermaid")]
    assert len(drawn) == 2
    assert all(each.startswith("flowchart") for each in drawn)
    (table,) = [text for found in outputs.values() for text in data_of(found, "text/html")]
    assert re.findall(r"<td>(.*?)</td>", table) == ["/docs", "3", "/help", "1", "/home", "5"]


def data_of(outputs: list[Any], kind: str) -> list[str]:
    """Return the contents of outputs with a MIME type."""
    return [each.data[kind] for each in outputs if kind in each.get("data", {})]
