"""The code in the documents runs as printed."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_DOCS = _ROOT / "docs"
_BLOCK = re.compile(r"(<!-- not run: .*? -->\n)?^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
_FILES = re.compile(r"^<!-- file: ", re.MULTILINE)  # the tutorial, which has a separate test


def blocks_of(page: Path) -> list[str]:
    text = page.read_text()
    if _FILES.search(text):
        return []
    return [code for not_run, code in _BLOCK.findall(text) if not not_run]


def _name(page: Path) -> str:
    return page.relative_to(_ROOT).as_posix()


_ON_SPARK = [_ROOT / "README.md", _DOCS / "dataframes.md"]
_FOLDERS = ("", "connectors/", "migration/")
_WRITTEN = [page for folder in _FOLDERS for page in sorted(_DOCS.glob(f"{folder}*.md"))]
PAGES = [page for page in _WRITTEN if page not in _ON_SPARK and blocks_of(page)]


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_code_blocks_of_a_page_run_in_order(page: Path, tmp_path: Path) -> None:
    blocks = blocks_of(page)
    program = tmp_path / "program.py"
    program.write_text("\n".join(blocks))
    runpy.run_path(str(program), run_name="program")


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", _ON_SPARK, ids=_name)
def test_code_blocks_that_need_spark_run_as_a_program(page: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("\n".join(blocks_of(page)))
    command = [sys.executable, program.name]
    python = {**os.environ, "PYSPARK_PYTHON": sys.executable}  # as in an activated environment
    done = subprocess.run(
        command, cwd=tmp_path, env=python, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_costs_of_s3_state_in_docs_equal_results_of_formulas() -> None:
    rows = re.findall(
        r"^\| (\w+) (packs|tasks)( of .*)? \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$",
        (_DOCS / "state-on-s3.md").read_text().replace("| for each 100", "| 100"),
        re.MULTILINE,
    )
    assert [count for count, *_ in rows] == ["2", "8", "32", "100", "100"]
    for count, _, large, *shown in rows:
        own = int(count) if large.endswith("`L` and `U`") else 0
        merged = int(count) if large else 0
        packs = 0 if large else int(count)
        puts, gets = packs + own + 0.14 * merged, 1.14 * merged
        if not large:
            puts += 1 + 5 / 50  # the commit, and LIST of 1,000 objects
        cost = 86_400 * (puts * 5 + gets * 0.4) / 1_000_000
        assert shown == [f"{cost / seconds:.2f}" for seconds in (1, 10, 60)]


@pytest.mark.parametrize(
    "page",
    [*sorted(_ROOT.glob("*.md")), *sorted(_DOCS.rglob("*.md")), _ROOT / "benchmarks/README.md"],
    ids=_name,
)
def test_links_in_docs_lead_to_existing_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), target
