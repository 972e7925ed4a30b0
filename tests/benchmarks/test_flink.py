"""What a file of Flink's SQL must have, so that its program can read it."""

from __future__ import annotations

import pytest

from benchmarks.suite.registry import all_workloads, peer_by
from benchmarks.suite.repository import ROOT
from benchmarks.suite.workload import Workload

ABLE = [each for each in all_workloads() if peer_by("flink-sql").refusal(each) is None]


@pytest.mark.parametrize("workload", ABLE, ids=lambda workload: workload.name)
def test_query_says_what_it_reads_and_what_it_gives(workload: Workload) -> None:
    file = ROOT / "benchmarks" / "peers" / "flink" / f"{workload.name.lower()}.sql"
    values, results, query = (part.strip() for part in file.read_text().split(";"))
    assert values
    assert results
    assert query.startswith("SELECT")
