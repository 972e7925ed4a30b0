"""Flink's SQL files have the parts that its program reads."""

from __future__ import annotations

import re

import pytest

from benchmarks.suite.registry import all_workloads, peer_by
from benchmarks.suite.repository import ROOT
from benchmarks.suite.workload import Workload

ABLE = [each for each in all_workloads() if peer_by("flink-sql").refusal(each) is None]


@pytest.mark.parametrize("workload", ABLE, ids=lambda workload: workload.name)
def test_flink_sql_file_has_values_then_results_table_then_views_then_query(
    workload: Workload,
) -> None:
    file = ROOT / "benchmarks" / "peers" / "flink" / f"{workload.name.lower()}.sql"
    parts = [part.strip() for part in file.read_text().split(";")]
    inputs = len(workload.datasets)
    values, (results, *views, query) = parts[:inputs], parts[inputs:]
    assert all(values)
    assert inputs == 1 or all(re.match(r"\w+( upsert)?( late \d+)?: `", part) for part in values)
    assert results
    assert all(view.startswith("CREATE TEMPORARY VIEW") for view in views)
    assert query.startswith("SELECT")
