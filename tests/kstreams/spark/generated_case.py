"""Runs a generated case on Spark, one micro-batch for each of its batches."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import groupby
from operator import attrgetter

import pyarrow as pa

from kstreams.embedded.log import EmbeddedLog
from kstreams.raw_batch import HEADERS_TYPE
from kstreams.state.log.totals import Totals, by_reason
from kstreams.testing import FakeClock
from tests.support.apps.record_totals import check_totals
from tests.support.generated.case import Batch, Case, RawRecord, Result
from tests.support.generated.driver_run import compared_stores, output_topics
from tests.support.generated.topology_plan import NodePlan
from tests.support.spark.bench import Bench

__all__ = ("run_on_spark",)


def run_on_spark(case: Case, bench: Bench) -> Result:
    """Run a case on empty topics and an empty checkpoint."""
    topology = case.plan.topology()
    log = bench.connection.log()
    for topic, partitions in case.plan.partitions.items():
        log.create(topic, partitions)
    clock = FakeClock()
    with bench.app(topology, clock=clock) as app:
        app.open()
        if has_wall_clock_work(case):
            app.drain()  # the first interval begins with the tasks, as on the test driver
        for number, batch in enumerate(case.batches):
            clock.advance(timedelta(milliseconds=batch.wall_ms - clock.now_ms()))
            _write(log, batch, number)
            app.drain()
    return _result(case, bench)


def has_wall_clock_work(case: Case) -> bool:
    """Return whether a node has a wall-clock punctuator."""
    return any(isinstance(n, NodePlan) and n.kind == "wall-collect" for n in case.plan.nodes)


def _write(log: EmbeddedLog, batch: Batch, number: int) -> None:
    place = attrgetter("topic", "partition")
    for (topic, partition), group in groupby(sorted(batch.records, key=place), place):
        log.append(topic, partition, _table(list(group)), producer="test", batch=number)


def _table(records: list[RawRecord]) -> pa.Table:
    headers = [
        [{"key": name, "value": value} for name, value in record.headers] or None
        for record in records
    ]
    return pa.table(
        {
            "timestamp": pa.array([record.timestamp for record in records], pa.int64()),
            "key": pa.array([record.key for record in records], pa.binary()),
            "value": pa.array([record.value for record in records], pa.binary()),
            "headers": pa.array(headers, HEADERS_TYPE),
        }
    )


def _result(case: Case, bench: Bench) -> Result:
    topology = case.plan.topology()
    result = Result()
    there = set(bench.connection.admin().topics())
    for topic in output_topics(case):
        for row in bench.raw(topic) if topic in there else ():
            rows = result.outputs.setdefault((topic, row.partition), [])
            rows.append((row.key, row.value, row.timestamp, tuple(row.headers)))
    for spec in compared_stores(topology):
        result.stores[spec.name] = bench.store(topology, spec)
    dropped: Counter[str] = Counter()
    for report in bench.reports:
        dropped.update(report.dropped)
    result.dropped = dict(dropped)
    last = {report.query: report.totals for report in bench.reports}
    for totals in last.values():
        result.nodes |= totals.nodes
    check_totals(topology, Totals(result.nodes))
    assert by_reason(result.nodes) == result.dropped
    return result
