"""Follows the tutorial: writes its files, and runs its commands as printed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from devtools.release.progress import ReleaseError, run
from devtools.workspace import ROOT

__all__ = ("follow_tutorial", "tutorial_requirements")

_TUTORIAL = ROOT / "docs" / "tutorial.md"
_STEP = re.compile(
    r"^<!-- file: (?P<file>\S+) -->\n```python\n(?P<code>.*?)^```|"
    r"^```console\n(?P<console>.*?)^```",
    re.DOTALL | re.MULTILINE,
)
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
    commands = 0
    steps = list(_STEP.finditer(tutorial.read_text()))
    if len(steps) < _LEAST_STEPS:
        raise ReleaseError(f"{tutorial.name} has {len(steps)} steps, expected {_LEAST_STEPS}")
    for step in steps:
        if step["file"]:
            (folder / step["file"]).write_text(step["code"])
            continue
        for command, expected in _commands(step["console"]):
            printed = run(
                ["bash", "-c", command], f"$ {command}", cwd=folder, env=environment, timeout=200
            )
            if lacking := [line for line in expected if line not in printed]:
                missing = "\n".join(lacking)
                raise ReleaseError(f"$ {command}\nprinted:\n{printed}\nwithout:\n{missing}")
            commands += 1
    return commands


def _commands(console: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the commands of a block, with the printed lines of each."""
    for command, *printed in (each.splitlines() for each in console.split("$ ") if each):
        if not command.startswith(_SET_UP):
            yield command, printed
