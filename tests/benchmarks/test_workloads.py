"""Each workload's topology, on the driver, gives what the plain computation does."""

from __future__ import annotations

import pytest

from benchmarks.suite.check import check
from benchmarks.suite.dataset import DAY_MS, PARTITIONS, START_MS
from benchmarks.suite.formats import decoder
from benchmarks.suite.registry import all_workloads, workload_by
from benchmarks.suite.repository import ROOT
from benchmarks.suite.workload import Execution, Results, Workload
from kstreams.graph.topology import Topology
from kstreams.testing import TopologyTestDriver

CASES = [
    pytest.param(workload, execution, id=f"{workload.name}-{execution}")
    for workload in (*all_workloads(), workload_by(str(ROOT / "examples" / "custom_benchmark.py")))
    for execution in (("auto", "records") if workload.by_record else ("auto",))
]


def results(topology: Topology, workload: Workload, records: int) -> Results:
    rows = workload.dataset.topic_rows(workload.dataset.records(records)).to_pylist()
    decode = decoder("windowed", workload)
    found: Results = {}
    with TopologyTestDriver(topology, partitions=PARTITIONS, start=START_MS + 2 * DAY_MS) as driver:
        for row in rows:
            driver.write_bytes("in", row["key"], row["value"], timestamp=row["timestamp"])
        driver.run()
        for result in driver.read_rows("out"):
            key, value = decode(result.key or b"", result.value)
            if value is None:
                found.pop(key, None)
            else:
                found[key] = (value, result.timestamp)
    return (workload.settle or dict)(found)


@pytest.mark.parametrize(("workload", "execution"), CASES)
def test_topology_computes_what_is_expected(workload: Workload, execution: Execution) -> None:
    assert workload.topology is not None
    expected = workload.expected(workload.dataset.records(600))
    found = results(workload.topology("in", "out", execution), workload, 600)
    assert check(expected, found, timestamps=True).problems == ()
