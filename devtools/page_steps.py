"""The steps of a page: the files that a reader saves, and the commands that a reader types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ("Command", "File", "steps_of")

_STEP = re.compile(
    r"^<!-- file: (?P<file>\S+) -->\n```(?:python|toml|text|yaml)\n(?P<code>.*?)^```|"
    r"^```console\n(?P<console>.*?)^```",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class File:
    """A file that the reader saves.

    Attributes:
        name: The name of the file.
        text: The content.
    """

    name: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command that the reader types.

    Attributes:
        line: The command.
        shown: The lines of output that the page shows.
    """

    line: str
    shown: tuple[str, ...]


def steps_of(page: Path) -> Iterator[File | Command]:
    """Yield the files and commands of a page, in the page's order."""
    for step in _STEP.finditer(page.read_text()):
        if step["file"]:
            yield File(step["file"], step["code"])
            continue
        for typed in re.split(r"^\$ ", step["console"], flags=re.MULTILINE)[1:]:
            line, *shown = typed.splitlines()
            yield Command(line, tuple(shown))
