"""Large topologies on Spark: two thousand nodes, and chains deeper than Python's stack."""

from __future__ import annotations

from collections import Counter

import pytest

from kstreams import Record
from tests.kstreams.graph.large import DEEP, EDGES, IN, WIDE, large, out
from tests.kstreams.spark.apps import Bench

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def test_two_thousand_nodes_run_on_spark(bench: Bench) -> None:
    topology = large()
    bench.create(IN, out("deep"), out("wide"), *(out(f"edge-{n}") for n in range(EDGES)))
    for batch in range(2):
        bench.emit(IN, [Record(f"k{n}", 1, n) for n in range(4)])
        bench.run(topology)
        assert all(report.dropped == {} for report in bench.reports)
        assert Counter(bench.records(out("deep"))) == {
            (f"k{n}", 1 + DEEP): batch + 1 for n in range(4)
        }
        for edge in (0, EDGES - 1):
            totals = {(f"k{n}", total + 1) for n in range(4) for total in range(batch + 1)}
            assert set(bench.records(out(f"edge-{edge}"))) == totals
    assert len(bench.raw(out("wide"))) == 8 * WIDE
