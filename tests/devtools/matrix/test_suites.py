"""The suites of the matrix."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from devtools.matrix import suites
from devtools.matrix.cells import SUITES, Cell
from devtools.matrix.environment import Environment
from devtools.matrix.programs import Ended
from devtools.matrix.suites import MARKERS, Counts, counted, run_suite
from devtools.workspace import ROOT


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("...\n3 passed in 0.12s\n", Counts(3, 0, 0)),
        ("== 2 passed, 1 skipped, 1 xfailed, 4 warnings in 61.00s (0:01:01) ==", Counts(2, 0, 2)),
        (
            "FAILED a.py::t - assert 2 passed\nERROR c.py\n1 failed, 5 passed, 2 errors in 3.00s\n",
            Counts(5, 3, 0, "a.py::t - assert 2 passed"),
        ),
        ("no tests ran in 0.01s\n", Counts()),
        ("Segmentation fault\n", Counts()),
        ("", Counts()),
    ],
)
def test_counts_are_read_from_the_output_of_pytest(output: str, expected: Counts) -> None:
    assert counted(output) == expected


@pytest.mark.parametrize("suite", ["fast", "engine"])
def test_markers_of_suite_are_those_of_the_makefile(suite: str) -> None:
    recipe = (ROOT / "Makefile").read_text().split(f"\ntest-{suite}: ")[1].split("\n\n")[0]

    assert re.findall(r"-m '(.+?)'", recipe) == [MARKERS[suite]]


def test_each_suite_has_markers() -> None:
    assert tuple(MARKERS) == SUITES


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Record commands instead of running them; those of an environment `broken` fail."""
    recorded: list[list[str]] = []

    def run(command: list[str | Path], *_: object, **options: object) -> Ended:
        recorded.append([str(part) for part in command])
        return Ended(1 if "broken" in str(command[0]) else 0, str(options["variables"]), 1.0)

    monkeypatch.setattr(suites, "run", run)
    return recorded


def environment(name: str = "env") -> Environment:
    return Environment(Path(f"/{name}/bin/python"), "3.12.1", "4.1.3")


def test_fast_suite_runs_selected_tests_by_markers(commands: list[list[str]]) -> None:
    run_suite(Cell("3.12", "4.1", "fast"), environment(), ["tests/a"], 1, 60)

    (command,) = commands
    assert command[:3] == ["/env/bin/python", "-m", "pytest"]
    assert command[-3:] == ["-m", MARKERS["fast"], "tests/a"]
    assert command[command.index("-n") + 1] == "1"


def test_engine_suite_fetches_servers_first(commands: list[list[str]]) -> None:
    run_suite(Cell("3.12", "4.1", "engine"), environment(), [], 1, 60)

    assert [command[2] for command in commands] == [
        "devtools.servers.fetch",
        "devtools.spark_classes",
        "pytest",
    ]


def test_engine_suite_ends_at_a_failed_preparation(commands: list[list[str]]) -> None:
    ended = run_suite(Cell("3.12", "4.1", "engine"), environment("broken"), [], 1, 60)

    assert ended.code == 1
    assert len(commands) == 1


def test_types_suite_checks_for_the_python_of_the_cell(commands: list[list[str]]) -> None:
    ended = run_suite(Cell("3.14", "4.1", "types"), environment(), ["tests/a"], 1, 60)

    (command,) = commands
    assert command[-3:] == ["-m", "long", "tests/typing"]
    assert "'KSTREAMS_TYPES_PYTHON': '3.14'" in ended.output
