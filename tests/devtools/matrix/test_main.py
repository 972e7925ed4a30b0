"""The command `python -m devtools.matrix`."""

from __future__ import annotations

from pathlib import Path

import pytest

from devtools.matrix import __main__ as command
from devtools.matrix.cells import Cell, locked_pyspark
from devtools.matrix.environment import Environment, UnavailableError
from devtools.matrix.page import BEGIN, END
from devtools.matrix.programs import Ended
from devtools.matrix.results import Result, load, save

SERIES = ".".join(locked_pyspark().split(".")[:2])


class Machine:
    """A machine with Python 3.12 only, on which all tests end in the same manner.

    Attributes:
        ended: The end of all tests.
        ran: The cells whose tests ran.
    """

    def __init__(self, folder: Path) -> None:
        self.ended = Ended(0, "5 passed, 1 skipped in 1s\n", 1.25)
        self.ran: list[Cell] = []
        self.results = folder / "results.json"
        self.page = folder / "page.md"
        self.page.write_text(f"{BEGIN}\n{END}\n")

    def prepare(self, python: str, pyspark: str) -> Environment:
        if python != "3.12":
            raise UnavailableError(f"no Python {python}")
        return Environment(Path("/env/bin/python"), "3.12.1", f"{pyspark}.0")

    def run_suite(self, cell: Cell, *_: object) -> Ended:
        self.ran.append(cell)
        return self.ended


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine(tmp_path)
    monkeypatch.setattr(command, "prepare", found.prepare)
    monkeypatch.setattr(command, "own", lambda: found.prepare("3.12", SERIES))
    monkeypatch.setattr(command, "run_suite", found.run_suite)
    monkeypatch.setattr(command, "load", lambda: load(found.results))
    monkeypatch.setattr(command, "save", lambda results: save(results, found.results))
    monkeypatch.setattr(command, "PAGE", found.page)
    monkeypatch.setattr(command, "ROOT", tmp_path)
    return found


def run(*options: str) -> int:
    return command.main(["run", *options])


def test_run_writes_results_and_table(machine: Machine) -> None:
    assert run("--python", "3.12", "--pyspark", SERIES, "--only", "fast", "--tests", "a", "b") == 0

    (result,) = load(machine.results)
    assert result == Result(
        python="3.12",
        pyspark=SERIES,
        suite="fast",
        outcome="passed",
        date=result.date,
        python_version="3.12.1",
        pyspark_version=f"{SERIES}.0",
        kstreams_version=result.kstreams_version,
        selection=("a", "b"),
        passed=5,
        skipped=1,
        seconds=1.2,
    )
    assert "| 3.12.1 |" in machine.page.read_text()


def test_run_keeps_results_of_other_cells(machine: Machine) -> None:
    run("--python", "3.12", "--pyspark", SERIES, "--only", "fast")
    run("--python", "3.12", "--pyspark", SERIES, "--only", "types")

    assert [result.suite for result in load(machine.results)] == ["fast", "types"]


@pytest.mark.parametrize(
    ("ended", "outcome", "first"),
    [
        (Ended(1, "FAILED a.py::t - x\n1 failed, 2 passed in 1s\n", 1.0), "failed", "a.py::t - x"),
        (Ended(-11, "Segmentation fault\n", 1.0), "failed", "Segmentation fault"),
        (Ended(5, "no tests ran in 0.1s\n", 1.0), "failed", "no tests ran in 0.1s"),
        (Ended(None, "....\n", 60.0), "timed out", ""),
    ],
)
def test_run_with_failing_tests_returns_1(
    machine: Machine, ended: Ended, outcome: str, first: str
) -> None:
    machine.ended = ended

    assert run("--python", "3.12", "--only", "fast", "--pyspark", SERIES) == 1

    (result,) = load(machine.results)
    assert (result.outcome, result.first_failure) == (outcome, first)


def test_missing_python_is_not_available_and_no_failure(machine: Machine) -> None:
    chosen = ["--python", "3.12", "--python", "3.14", "--pyspark", SERIES, "--only", "fast"]

    assert run(*chosen) == 0

    passed, missing = load(machine.results)
    assert passed.outcome == "passed"
    assert (missing.outcome, missing.reason) == ("not available", "no Python 3.14")
    assert machine.ran == [passed.cell]


def test_run_without_any_available_cell_returns_1(machine: Machine) -> None:
    assert run("--python", "3.14", "--only", "fast") == 1
    assert not machine.ran


def test_types_suite_runs_without_the_python_of_its_cell(machine: Machine) -> None:
    assert run("--python", "3.14", "--only", "types") == 0
    assert machine.ran == [Cell("3.14", SERIES, "types")]


def test_dry_run_prints_cells_only(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--python", "3.12", "--only", "engine", "--pyspark", SERIES, "--dry-run") == 0

    assert capsys.readouterr().out == f"matrix: 1/1 Python 3.12, pyspark {SERIES}: engine\n"
    assert not machine.results.exists()


def test_page_command_writes_the_table_of_the_committed_results(machine: Machine) -> None:
    run("--python", "3.12", "--pyspark", SERIES, "--only", "fast")
    table = machine.page.read_text()
    machine.page.write_text(f"{BEGIN}\nold\n{END}\n")

    assert command.main(["page"]) == 0
    assert machine.page.read_text() == table


@pytest.mark.parametrize("option", [["--python", "2.7"], ["--pyspark", "3.5"], ["--only", "slow"]])
def test_unknown_choice_is_refused(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run(*option)

    assert caught.value.code == 2
    assert "invalid choice" in capsys.readouterr().err


def test_help_explains_each_suite(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--help"])

    out = capsys.readouterr().out
    assert all(word in out for word in ("fast ", "engine ", "types ", "not available", "exit code"))
