"""Limits on Spark: two thousand nodes, chains beyond Python's recursion limit, a full buffer."""

from __future__ import annotations

from collections import Counter

import pytest

from kstreams import INT64, TEXT, Record, TopologyBuilder
from kstreams.durations import hours
from kstreams.emit import suppress, until_time_limit
from kstreams.errors import LimitError
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.topology import to_stdout
from tests.support.spark.bench import Bench
from tests.support.topologies.large_topology import DEEP, EDGES, IN, WIDE, large, out

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.mark.long
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


def test_reached_buffer_limit_stops_app_although_failing_records_are_skipped(
    bench: Bench,
) -> None:
    builder = TopologyBuilder("held", on_error="skip")
    until = until_time_limit(hours(1), max_bytes=150, full="fail")
    held = suppress(until, store=buffer_store("held", key=TEXT, value=INT64))
    node = builder.add_processor("held", held, builder.add_source("in", IN))
    builder.add_sink("out", to_stdout(), node)
    topology = builder.build()
    bench.create(IN, partitions=1)
    bench.emit(IN, [Record(f"k{n}", n, n) for n in range(2)])
    bench.run(topology)
    bench.emit(IN, [Record(f"k{n}", n, n) for n in range(9)])
    for _ in range(2):
        with pytest.raises(LimitError, match="reached its limit of 150 bytes") as caught:
            bench.run(topology)
        assert caught.value.where.node == "held"
    assert bench.last_commit(topology).batch == 0
