"""On the test driver, each workload's topology gives the results of the plain computation."""

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


def topics_of(workload: Workload) -> list[str]:
    return [f"in-{number}" for number in range(len(workload.datasets))]


def results(topology: Topology, workload: Workload, records: int) -> Results:
    decode = decoder("windowed", workload)
    found: Results = {}
    with TopologyTestDriver(topology, partitions=PARTITIONS, start=START_MS + 2 * DAY_MS) as driver:
        for topic, dataset in zip(topics_of(workload), workload.datasets, strict=True):
            for row in dataset.topic_rows(dataset.records(records)).to_pylist():
                driver.write_bytes(topic, row["key"], row["value"], timestamp=row["timestamp"])
        driver.run()
        for result in driver.read_rows("out"):
            key, value = decode(result.key or b"", result.value)
            if value is None:
                found.pop(key, None)
            else:
                found[key] = (value, result.timestamp)
    return (workload.settle or dict)(found)


@pytest.mark.parametrize(("workload", "execution"), CASES)
def test_topology_of_workload_gives_expected_results(
    workload: Workload, execution: Execution
) -> None:
    assert workload.topology is not None
    expected = workload.expected(*workload.tables(600))
    topology = workload.topology(*topics_of(workload), "out", execution)
    found = results(topology, workload, 600)
    assert check(expected, found, timestamps=True).problems == ()
