"""Each how-to page works as printed: its files, its commands and their output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from devtools.page_steps import Command, File, steps_of
from tests.support.pages.reader import Reader, steady

_ROOT = Path(__file__).parents[2]
_FOLDER = _ROOT / "docs" / "how-to"
_INDEX = _FOLDER / "index.md"
PAGES = sorted(page for page in _FOLDER.glob("*.md") if page != _INDEX)
_PARTS = ["How it works", "Pitfalls", "See also"]


def _name(page: Path) -> str:
    return page.stem


def _is_slow(page: Path) -> bool:
    """Return whether a page has commands that start processes."""
    commands = [step.line for step in steps_of(page) if isinstance(step, Command)]
    return any(line.startswith(("kstreams run ", "python -m ")) for line in commands)


_RUN = [
    pytest.param(page, marks=[pytest.mark.slow] if _is_slow(page) else [], id=_name(page))
    for page in PAGES
]


@pytest.mark.parametrize("page", _RUN)
def test_program_and_commands_of_a_page_print_the_shown_lines(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})  # an app starts one worker
    shown = 0
    with closing(Reader(tmp_path)) as reader:
        for step in steps_of(page):
            if isinstance(step, File):
                reader.save(step)
            else:
                assert steady(reader.type(step.line)) == steady(step.shown), step.line
                shown += len(step.shown)
    assert shown > 0


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_page_has_a_program_its_output_and_the_parts_of_a_how_to_page(page: Path) -> None:
    text = page.read_text()
    steps = list(steps_of(page))
    assert re.findall(r"^## (.*)$", text, re.MULTILINE)[-3:] == _PARTS
    assert any(isinstance(step, File) and step.name.endswith(".py") for step in steps)
    assert any(isinstance(step, Command) for step in steps)
    code = re.findall(r"^```(?:python|console)$", text, re.MULTILINE)
    assert len(code) == len(
        re.findall(r"^<!-- file: \S+\.py -->\n```python$|^```console$", text, re.MULTILINE)
    )


def test_index_lists_each_page_once_by_its_title() -> None:
    listed = re.findall(r"^- \[([^]]+)\]\(([^)]+)\)", _INDEX.read_text(), re.MULTILINE)
    titles = {page.name: page.read_text().splitlines()[0].removeprefix("# ") for page in PAGES}
    assert sorted((file, title) for title, file in listed) == sorted(titles.items())


@pytest.mark.long
@pytest.mark.timeout(600)
def test_programs_of_all_pages_pass_strict_type_checks(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    for page in PAGES:
        _save_typed(page, tmp_path)
    assert pytestconfig.cache is not None
    cache = str(pytestconfig.cache.mkdir("mypy"))
    files = map(str, sorted(tmp_path.glob("*.py")))
    command = [sys.executable, "-m", "mypy", "--cache-dir", cache, *files]
    stubs = {**os.environ, "MYPYPATH": str(tmp_path)}
    done = subprocess.run(
        command, cwd=_ROOT, env=stubs, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _save_typed(page: Path, folder: Path) -> None:
    """Save the last version of each program of a page under a name with the page's name."""
    prefix = f"{page.stem.replace('-', '_')}__"
    files = [step for step in steps_of(page) if isinstance(step, File)]
    for file in files:
        if file.name.endswith(".proto"):
            (folder / file.name).write_text(file.text)
            command = [sys.executable, "-m", "grpc_tools.protoc", "-I.", "--pyi_out=.", file.name]
            subprocess.run(command, cwd=folder, check=True)
    programs = {
        step.name.removesuffix(".py"): step.text for step in files if step.name.endswith(".py")
    }
    for name, text in programs.items():
        for other in programs:
            text = re.sub(
                rf"^from {other} import", f"from {prefix}{other} import", text, flags=re.MULTILINE
            )
        (folder / f"{prefix}{name}.py").write_text(text)
