"""Run a case on the test driver."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from kstreams import Topology
from kstreams.stores import StoreSpec
from kstreams_testing.driver import TopologyTestDriver
from tests.support.apps.record_totals import check_totals
from tests.support.generated.case import Case, Result, recut
from tests.support.generated.topology_plan import DEAD_LETTERS, SinkPlan

__all__ = ("compared_stores", "output_topics", "run_on_driver")


_BY_KEY = {"key-value", "list", "timestamped", "versioned"}


def run_on_driver(
    case: Case, cuts: Iterable[int] | None = None, *, recreate_processors: bool = False
) -> Result:
    """Run a case, with a micro-batch for each of its batches.

    Args:
        case: The case to run.
        cuts: Other cuts of the input, by number of records; None keeps the batches.
        recreate_processors: Option of the test driver.
    """
    if cuts is not None:
        case = recut(case, cuts)
    topology = case.plan.topology()
    with TopologyTestDriver(
        topology, partitions=case.plan.partitions, recreate_processors=recreate_processors
    ) as driver:
        for batch in case.batches:
            driver.clock.advance(timedelta(milliseconds=batch.wall_ms - driver.clock.now_ms()))
            for record in batch.records:
                driver.write_bytes(
                    record.topic,
                    record.key,
                    record.value,
                    timestamp=record.timestamp,
                    headers=record.headers,
                    partition=record.partition,
                )
            driver.run()
        check_totals(topology, driver.totals)
        result = Result(dropped=dict(driver.dropped), nodes=dict(driver.totals.nodes))
        for topic in output_topics(case):
            for row in driver.read_rows(topic):
                place = result.outputs.setdefault((topic, row.partition), [])
                place.append((row.key, row.value, row.timestamp, row.headers))
        for spec in compared_stores(topology):
            untyped: Any = spec  # a topology's stores have lost their types
            result.stores[spec.name] = driver.store_contents(untyped)
    return result


def compared_stores(topology: Topology) -> list[StoreSpec[object]]:
    """Return the stores whose contents are compared: the kinds that list rows by key."""
    return [spec for spec in topology.stores if spec.kind.name in _BY_KEY]


def output_topics(case: Case) -> list[str]:
    """Return the topics that a case may write to."""
    return [*(topic for sink in case.plan.sinks for topic in _topics(sink)), DEAD_LETTERS]


def _topics(sink: SinkPlan) -> list[str]:
    return [f"{sink.name}-0", f"{sink.name}-1"] if sink.by else [sink.name]
