"""A table that is looked up for a stream of its own changes runs by records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kstreams import INT64, TEXT, Topic, TopologyBuilder
from kstreams.joins import inner
from kstreams.stores import timestamped_store
from kstreams.testing import TopologyTestDriver
from tests.kstreams.graph.execution.test_execution import execution

PRICES = Topic("prices", TEXT, INT64)
OUT = Topic("out", TEXT, INT64)


def directly(builder: TopologyBuilder, table: Any) -> Any:
    return builder.to_stream("changes", table)


def by_a_view(builder: TopologyBuilder, table: Any) -> Any:
    view = builder.derive("a-view", table, lambda key, value: value)
    return builder.to_stream("z-changes", view)


def by_another_lookup(builder: TopologyBuilder, table: Any) -> Any:
    changes = builder.to_stream("changes", table)
    return builder.join_table("again", changes, table, inner(lambda one, other: one))


@pytest.mark.parametrize("stream", [directly, by_a_view, by_another_lookup])
def test_join_of_changes_of_table_with_same_table_reads_new_row(
    stream: Callable[[TopologyBuilder, Any], Any],
) -> None:
    builder = TopologyBuilder("t")
    prices: Any = builder.add_source("source", PRICES)
    table = builder.to_table(
        "table", prices, store=timestamped_store("rows", key=TEXT, value=INT64)
    )
    both = builder.join_table("both", stream(builder, table), table, inner(lambda a, b: a + b))
    builder.add_sink("out", OUT, both)
    topology = builder.build()
    shown = execution(topology, "table")
    assert shown is not None
    assert shown.startswith("records (")
    with TopologyTestDriver(topology) as driver:
        for price in (1, 20):
            driver.pipe(PRICES, "a", price)
            driver.run()
        assert [record.value for record in driver.read(OUT)] == [2, 40]
