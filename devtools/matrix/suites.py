"""The suites of the matrix: the same selections of tests as in the Makefile."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from devtools.matrix.cells import Cell
from devtools.matrix.environment import WORK, Environment
from devtools.matrix.programs import Ended, run

__all__ = ("MARKERS", "Counts", "counted", "run_suite")

MARKERS = {
    "fast": "not (spark or kafka or slow or long or kill or connectors)",
    "engine": "(spark or kafka) and not (cluster or long or kill)",
    "types": "long",
}
"""The expression of each suite for `pytest -m`."""

_FIRST = {"engine": ("devtools.servers.fetch", "devtools.spark_classes")}
"""The modules that run before the tests of a suite."""

_TYPES = "tests/typing"
_COUNT = re.compile(r"(\d+) (passed|failed|skipped|xfailed|errors?)\b")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+)$", re.MULTILINE)


class Counts(NamedTuple):
    """The counts of a run of pytest.

    Attributes:
        passed: The number of passed tests.
        failed: The number of failed tests and of errors.
        skipped: The number of skipped tests, with expected failures.
        first_failure: The id and the message of the first failed test; empty without one.
    """

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    first_failure: str = ""


def run_suite(
    cell: Cell, environment: Environment, selection: Sequence[str], jobs: int, timeout_s: float
) -> Ended:
    """Run the tests of a cell.

    Args:
        cell: The cell.
        environment: The environment of the cell; for types, the environment of the repository.
        selection: The paths of the tests; empty for the complete suite.
        jobs: The number of test processes.
        timeout_s: Maximum time, in seconds.
    """
    variables = {**environment.variables, "KSTREAMS_TYPES_PYTHON": cell.python}
    log = WORK / f"{cell.python}-{cell.pyspark}.{cell.suite}.log"
    for module in _FIRST.get(cell.suite, ()):
        ended = run(
            [environment.python, "-m", module], log, timeout_s=timeout_s, variables=variables
        )
        if ended.code != 0:
            return ended
    command = _command(cell, environment.python, selection, jobs)
    return run(command, log, timeout_s=timeout_s, variables=variables)


def _command(cell: Cell, python: Path, selection: Sequence[str], jobs: int) -> list[str | Path]:
    paths = [_TYPES] if cell.suite == "types" else list(selection)
    pytest: list[str | Path] = [python, "-m", "pytest", "-q"]
    if cell.suite != "types":
        pytest += ["-n", str(jobs), "--dist", "worksteal"]
    return [*pytest, "-m", MARKERS[cell.suite], *paths]


def counted(output: str) -> Counts:
    """Return the counts in the output of pytest; zeros if it has no last line of counts."""
    lines = output.splitlines()
    last = next((line for line in reversed(lines) if _COUNT.search(line)), "")
    found = {"passed": 0, "failed": 0, "skipped": 0}
    for number, word in _COUNT.findall(last):
        word = {"error": "failed", "errors": "failed", "xfailed": "skipped"}.get(word, word)
        found[word] += int(number)
    first = _FAILED.search(output)
    return Counts(**found, first_failure=first.group(1).strip() if first else "")
