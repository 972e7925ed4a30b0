"""The last result of each cell, in `results.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from devtools.matrix.cells import Cell

__all__ = ("RESULTS", "Outcome", "Result", "load", "merged", "save")

RESULTS = Path(__file__).with_name("results.json")

Outcome = Literal["passed", "failed", "timed out", "not available"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a cell.

    Attributes:
        python: The version of Python in the matrix, such as `3.12`.
        pyspark: The series of PySpark, such as `4.1`.
        suite: The name of the suite.
        outcome: Whether the suite passed; `not available` if it could not start.
        date: The day of the run, as `2026-11-29`.
        python_version: The complete version of Python; empty if it is not available.
        pyspark_version: The complete version of PySpark; empty if it is not available.
        pyarrow_version: The version of PyArrow; empty if unknown, as the next two.
        protobuf_version: The version of protobuf.
        java_version: The version of Java.
        kstreams_version: The version of kstreams.
        selection: The paths of the tests; empty for the complete suite.
        passed: The number of passed tests.
        failed: The number of failed tests, with errors of fixtures and imports.
        skipped: The number of skipped tests.
        seconds: The duration of the tests, without the installation.
        first_failure: The id and the message of the first failed test.
        reason: The reason why the cell is not available.
    """

    python: str
    pyspark: str
    suite: str
    outcome: Outcome
    date: str
    python_version: str = ""
    pyspark_version: str = ""
    pyarrow_version: str = ""
    protobuf_version: str = ""
    java_version: str = ""
    kstreams_version: str = ""
    selection: tuple[str, ...] = ()
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    first_failure: str = ""
    reason: str = ""

    @property
    def cell(self) -> Cell:
        """The cell of this result."""
        return Cell(self.python, self.pyspark, self.suite)

    @property
    def red(self) -> bool:
        """Whether tests ran and did not pass."""
        return self.outcome in ("failed", "timed out")


def load(path: Path = RESULTS) -> list[Result]:
    """Return the results of a file; none if it does not exist."""
    if not path.exists():
        return []
    rows = json.loads(path.read_text("utf-8"))["cells"]
    return [Result(**{**row, "selection": tuple(row["selection"])}) for row in rows]


def merged(old: Iterable[Result], new: Iterable[Result]) -> list[Result]:
    """Return one result for each cell, the newer one, in the order of the table."""
    found = {result.cell: result for result in (*old, *new)}
    return [found[cell] for cell in sorted(found, key=_place)]


def save(results: Iterable[Result], path: Path = RESULTS) -> None:
    """Write results as JSON; equal results give equal bytes."""
    rows = [asdict(result) for result in results]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cells": rows}, indent=2) + "\n", "utf-8")


def _place(cell: Cell) -> tuple[list[int], list[int], str]:
    return _numbers(cell.python), _numbers(cell.pyspark), cell.suite


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
