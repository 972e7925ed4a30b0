"""The check of a peer's results finds missing, wrong and surplus results."""

from __future__ import annotations

import pytest

from benchmarks.suite.check import check
from benchmarks.suite.workload import Expected, Results

EXPECTED: Expected = {(b"a", 0, 0): (3, 7), (b"b", 10, 0): (1, 12), (b"c", 0, 0): (2, None)}
RIGHT: Results = {(b"a", 0, 0): (3, 7), (b"b", 10, 0): (1, 12), (b"c", 0, 0): (2, 99)}


def test_check_accepts_expected_results_and_ignores_results_of_end_records() -> None:
    verdict = check(EXPECTED, {**RIGHT, (b"~end-1", 0, 0): (1, 5)}, timestamps=True)
    assert verdict.right
    assert verdict.results == 3


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param({(b"a", 0, 0): (4, 7)}, "1 with another value, such as", id="value"),
        pytest.param({(b"a", 0, 0): (3, 8)}, "1 with another timestamp", id="timestamp"),
        pytest.param({(b"z", 0, 0): (1, 1)}, "1 unexpected", id="unexpected"),
    ],
)
def test_check_reports_wrong_result_with_an_example(change: Results, problem: str) -> None:
    verdict = check(EXPECTED, {**RIGHT, **change}, timestamps=True)
    assert not verdict.right
    assert verdict.problems[0].startswith(problem)


def test_check_reports_missing_result() -> None:
    found = {key: result for key, result in RIGHT.items() if key[0] != b"b"}
    assert check(EXPECTED, found, timestamps=True).problems == (
        "1 missing, such as (b'b', 10, 0): 1",
    )


def test_check_compares_timestamps_only_if_requested() -> None:
    assert check(EXPECTED, {**RIGHT, (b"a", 0, 0): (3, 8)}, timestamps=False).right


def test_check_accepts_floats_that_differ_in_their_last_digits() -> None:
    wanted: Expected = {(b"a", 0, 0): (0.1 + 0.2, None)}
    assert check(wanted, {(b"a", 0, 0): (0.3, 0)}, timestamps=True).right
    assert not check(wanted, {(b"a", 0, 0): (0.3001, 0)}, timestamps=True).right
