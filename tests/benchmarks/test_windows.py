"""The benchmark of windows ends and prints its figures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> str:
    command = [sys.executable, "-m", "benchmarks.windows", "--smoke", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    (folder / "printed").write_text(run("--out", str(folder)))
    return folder


@pytest.mark.long
def test_windows_benchmark_writes_figures_of_each_case(results: Path) -> None:
    data = json.loads((results / "windows.json").read_text())
    figures = {line["name"]: line for line in data["figures"]}
    assert {"w1", "w1-records", "sliding", "session", "calendar"} <= set(figures)
    for line in figures.values():
        assert line["results"] > 0
        assert line["records_per_s"] > 0
        assert len(line["batch_ms"]) == 4
    assert figures["w1"]["results"] == figures["w1-records"]["results"]
    assert figures["session"]["results"] == figures["session-records"]["results"]


def test_windows_benchmark_prints_and_plots_figures(results: Path) -> None:
    printed = (results / "printed").read_text()
    assert "records/s" in printed
    assert "us a record in the first third" in printed
    assert printed.rstrip() == (results / "windows.txt").read_text().rstrip()
    assert (results / "windows.png").read_bytes().startswith(b"\x89PNG")


def test_matrix_has_all_combinations_of_options_for_count_and_sum() -> None:
    from benchmarks.windows.cases import AGGREGATORS, matrix

    cases = list(matrix())
    assert len({case.name for case in cases}) == len(cases)
    full = [case for case in cases if case.aggregator in ("count", "sum")]
    assert len(full) == 2 * 5 * 2 * 3 * 2 * 2
    assert {case.aggregator for case in cases} == set(AGGREGATORS)
