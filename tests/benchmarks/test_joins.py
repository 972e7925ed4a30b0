"""The benchmark of joins in one process ends and prints its figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.joins.__main__ import main
from benchmarks.joins.cases import CASES


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, int]]:
    file = tmp_path_factory.mktemp("figures") / "joins.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["joins", "--smoke", "--json", str(file)])
        main()
    found: dict[str, dict[str, int]] = json.loads(Path(file).read_text())
    return found


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_joins_benchmark_has_rate_and_result_count_of_each_case(
    figures: dict[str, dict[str, int]], case: str
) -> None:
    assert figures[case]["per_cpu_s"] > 0
    assert (figures[case]["results"] > 0) == (CASES[case].counts != "batches")


def test_joins_benchmark_counts_one_result_per_joined_record(
    figures: dict[str, dict[str, int]],
) -> None:
    assert figures["stream-table"]["results"] == 2 * (500 - 10)  # all but the updates
