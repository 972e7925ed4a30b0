"""The tutorial works as printed: its files, its commands and their output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

_TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
_STEP = re.compile(
    r"^<!-- file: (?P<file>\S+) -->\n```python\n(?P<code>.*?)^```|"
    r"^```console\n(?P<console>.*?)^```",
    re.DOTALL | re.MULTILINE,
)
_SET_UP = ("python -m venv", ". .venv", "pip install")


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(300)
def test_every_step_of_the_tutorial_works(tmp_path: Path) -> None:
    steps = list(_STEP.finditer(_TUTORIAL.read_text()))
    assert len(steps) > 8
    for step in steps:
        if step["file"]:
            (tmp_path / step["file"]).write_text(step["code"])
        else:
            _type(step["console"], tmp_path)


def _type(console: str, folder: Path) -> None:
    for command, *shown in (each.splitlines() for each in console.split("$ ") if each):
        if not command.startswith(_SET_UP):
            answered = _run(command, folder)
            for line in shown:
                assert line in answered, f"$ {command}\n{answered}"


def _run(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": "", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}"
    return done.stdout
