"""The tutorial works as printed: its files, its commands and their output."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from devtools.release.progress import ReleaseError
from devtools.release.tutorial import follow_tutorial, tutorial_requirements

_PAGE = (
    """
```console
$ . .venv/bin/activate
$ pip install 'kstreams-spark[cli]' pytest
```
"""
    + 9
    * (
        "<!-- file: shout.py -->\n```python\nprint('LOUD')\n```\n"
        "```console\n$ python shout.py\nLOUD\n```\n"
    )
)


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(300)
def test_every_step_of_the_tutorial_works(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": "", "COLUMNS": "100"}

    assert follow_tutorial(tmp_path, environment) > 8


def test_commands_run_in_files_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(_PAGE)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    assert tutorial_requirements(page) == ["kstreams-spark[cli]", "pytest"]
    assert follow_tutorial(tmp_path, {"PATH": path}, page) == 9


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("\nLOUD\n", "\nQUIET\n", "printed:\nLOUD\n\nwithout these lines of the page:\nQUIET"),
        ("print('LOUD')", "raise SystemExit(3)", "ended with 3"),
        ("console", "text", "9 files and commands to follow, expected at least 10"),
    ],
)
def test_page_with_wrong_command_is_refused(
    tmp_path: Path, before: str, after: str, problem: str
) -> None:
    page = tmp_path / "page.md"
    page.write_text(_PAGE.replace(before, after))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    with pytest.raises(ReleaseError) as caught:
        follow_tutorial(tmp_path, {"PATH": path}, page)

    assert problem in str(caught.value)
