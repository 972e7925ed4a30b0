"""The tutorial works as printed: its files, its commands and their output."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pages.steps import File, steps_of

_TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
_SET_UP = ("python -m venv", ". .venv", "pip install")


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(300)
def test_every_step_of_the_tutorial_works(tmp_path: Path) -> None:
    steps = list(steps_of(_TUTORIAL))
    assert len(steps) > 16
    for step in steps:
        if isinstance(step, File):
            (tmp_path / step.name).write_text(step.text)
        elif not step.line.startswith(_SET_UP):
            printed = _run(step.line, tmp_path)
            for line in step.shown:
                assert line in printed, f"$ {step.line}\n{printed}"


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
