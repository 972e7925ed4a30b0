"""The file of results."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devtools.matrix.cells import PYSPARKS, PYTHONS, SUITES, Cell
from devtools.matrix.results import Outcome, Result, load, merged, save

RESULTS = st.builds(
    Result,
    python=st.sampled_from(PYTHONS),
    pyspark=st.sampled_from(PYSPARKS),
    suite=st.sampled_from(SUITES),
    outcome=st.sampled_from(["passed", "failed", "timed out", "not available"]),
    date=st.dates().map(str),
    selection=st.lists(st.text(), max_size=2).map(tuple),
    passed=st.integers(0, 9999),
    first_failure=st.text(),
)


@given(st.lists(RESULTS, max_size=12), st.lists(RESULTS, max_size=12))
def test_merged_matrix_results_have_the_last_result_of_each_cell_in_order(
    old: list[Result], new: list[Result]
) -> None:
    found = merged(old, new)

    model: dict[Cell, Result] = {}
    for result in [*old, *new]:
        model[result.cell] = result
    order = [
        Cell(python, pyspark, suite)
        for python in PYTHONS
        for pyspark in PYSPARKS
        for suite in sorted(SUITES)
    ]
    assert found == [model[cell] for cell in order if cell in model]


@given(st.lists(RESULTS, max_size=4))
def test_loaded_matrix_results_equal_the_saved_ones(results: list[Result]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "new" / "results.json"
        save(results, path)

        assert load(path) == results


def test_missing_matrix_file_has_no_results(tmp_path: Path) -> None:
    assert load(tmp_path / "results.json") == []


@pytest.mark.parametrize(
    ("outcome", "red"),
    [("passed", False), ("failed", True), ("timed out", True), ("not available", False)],
)
def test_result_is_red_if_its_tests_failed_or_timed_out(outcome: Outcome, red: bool) -> None:
    result = Result(python="3.12", pyspark="4.1", suite="fast", outcome=outcome, date="2026-01-01")

    assert result.red == red
