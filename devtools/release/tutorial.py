"""Follows the tutorial: writes its files, and runs its commands as printed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from devtools.page_steps import Command, File, steps_of
from devtools.release.progress import ReleaseError, run
from devtools.workspace import ROOT

__all__ = ("follow_tutorial", "tutorial_requirements")

_TUTORIAL = ROOT / "docs" / "tutorial.md"
_SET_UP = ("python -m venv", ". .venv", "pip install")
_LEAST_STEPS = 10


def tutorial_requirements(tutorial: Path = _TUTORIAL) -> list[str]:
    """Return the requirements that the tutorial installs with pip."""
    (line,) = re.findall(r"^\$ pip install (.*)$", tutorial.read_text(), re.MULTILINE)
    return shlex.split(line)


def follow_tutorial(
    folder: Path, environment: Mapping[str, str], tutorial: Path = _TUTORIAL
) -> int:
    """Follow the tutorial, except for its installation, and return the number of commands.

    Args:
        folder: The working directory.
        environment: The environment variables; PATH begins with the folder of the programs.
        tutorial: The page.

    Raises:
        ReleaseError: A command fails, or its output lacks a printed line.
    """
    steps = list(steps_of(tutorial))
    if len(steps) < _LEAST_STEPS:
        raise ReleaseError(
            f"page {tutorial.name} has {len(steps)} files and commands to follow, expected at "
            f"least {_LEAST_STEPS}"
        )
    commands = 0
    for step in steps:
        if isinstance(step, File):
            (folder / step.name).write_text(step.text)
        elif not step.line.startswith(_SET_UP):
            _run(step, folder, environment)
            commands += 1
    return commands


def _run(step: Command, folder: Path, environment: Mapping[str, str]) -> None:
    command = step.line
    printed = run(["bash", "-c", command], f"$ {command}", cwd=folder, env=environment, timeout=200)
    if lacking := [line for line in step.shown if line not in printed]:
        missing = "\n".join(lacking)
        raise ReleaseError(
            f"$ {command}\nprinted:\n{printed}\nwithout these lines of the page:\n{missing}"
        )
