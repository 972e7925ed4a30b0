"""An app that has stopped after some batches, with its files and older copies of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kstreams.state import Memory
from kstreams.state.log.directory import Directory
from tests.support.crash.failpoints import Point
from tests.support.crash.harness import Harness
from tests.support.crash.marking_app import expected, told

__all__ = (
    "BATCHES",
    "check_counts",
    "commits_of",
    "copy_of",
    "log_of",
    "plans_of",
    "query_of",
    "scene_in",
    "stopped_app",
)

BATCHES = 5
_NEVER = Point("nothing-dies", "never")


def scene_in(home: Path, patch: pytest.MonkeyPatch) -> Harness:
    """Start an app."""
    log = Directory(str(home / "log"))
    harness = Harness(home, Memory(directory=str(home / "local")), log, _NEVER, "restart", patch)
    harness.start_driver()
    return harness


def stopped_app(home: Path, patch: pytest.MonkeyPatch) -> Harness:
    """Return an app that has stopped after some batches, with copies of its older files."""
    made = scene_in(home, patch)
    for number in range(BATCHES):
        made.batch()
        for part in (log_of(made), query_of(made)):
            shutil.copytree(part, copy_of(made, part, number))
    made.end_process()
    return made


def log_of(harness: Harness) -> Path:
    """Return the folder of its durable log."""
    return harness.home / "log"


def query_of(harness: Harness) -> Path:
    """Return the folder of its only query."""
    (query,) = (harness.home / "checkpoint" / "queries").iterdir()
    return query


def copy_of(harness: Harness, part: Path, batch: int) -> Path:
    """Return the copy of a part of its files after a batch."""
    return harness.home / "copies" / f"{part.name}-after-{batch}"


def commits_of(harness: Harness) -> list[Path]:
    """Return the files of its commits, in order."""
    return sorted((log_of(harness) / "commits").glob("*/0*.json"))


def plans_of(harness: Harness) -> list[Path]:
    """Return the files of its plans, in order."""
    return sorted((query_of(harness) / "plans").glob("0*.json"))


def check_counts(harness: Harness) -> None:
    """Compare everything except the marks: a batch that runs again writes others."""
    numbers, state = told(harness._published())
    assert numbers == expected(harness.input)
    marks = harness.state()
    assert {key: len(own) for key, own in marks.items()} == {k: len(v) for k, v in state.items()}
