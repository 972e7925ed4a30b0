"""Foreign keys and groups on Spark: three or more stages in a batch, exact at every commit."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import TEXT, Record, Topology, TopologyBuilder, View, timestamped_store
from kstreams.aggregators import combine, count, over, sum_
from kstreams.emit import each_update
from kstreams.joins import left
from kstreams.serde.numbers import INT64
from kstreams.testing import TopologyTestDriver
from tests.kstreams.joins.foreign.test_foreign_keys import (
    ENTERED,
    FULL,
    LEFT,
    LEFTS,
    OUT,
    RIGHT,
    RIGHTS,
    expected,
    foreign,
    pair,
    values,
)
from tests.support.spark.bench import Bench

pytestmark = pytest.mark.spark

SIZES = combine(count(), over(len, sum_(INT64)))
GROUPS = timestamped_store("groups", key=TEXT, value=SIZES.state)


def last(_: str, value: str) -> str:
    """Return the last letter of a result, which comes from the right row."""
    return value[-1:]


def joined_and_grouped() -> Topology:
    builder = TopologyBuilder("t")
    lefts = builder.add_table("lefts", LEFT, store=LEFTS)
    rights = builder.add_table("rights", RIGHT, store=RIGHTS)
    full = builder.join_foreign("full", lefts, rights, left(pair), by=foreign, store=FULL)
    builder.add_sink("out", OUT, builder.to_stream("each", full, emit=each_update()))
    builder.regroup("groups", full, last, SIZES, store=GROUPS)
    return builder.build()


def test_stores_of_four_stages_are_consistent_at_each_commit(bench: Bench) -> None:
    topology = joined_and_grouped()
    assert [len(groups) for groups in topology.pipelines()] == [4]
    keys = [f"k{number}" for number in range(40)]
    batches: list[tuple[list[Any], list[Any]]] = [
        ([Record(k, f"{n % 7}|x", n) for n, k in enumerate(keys)], []),
        (
            [Record(k, f"{n % 5}|y", 50 + n) for n, k in enumerate(keys)],
            [Record(str(n), "ABC"[n % 3], 40 + n) for n in range(6)],
        ),
        ([Record(k, None, 100) for k in keys[::3]], [Record("1", None, 99), Record("2", "B", 98)]),
        ([Record(k, "none", 120) for k in keys[1::3]], []),
    ]
    bench.create(LEFT, RIGHT)
    with TopologyTestDriver(topology, partitions=2) as driver, bench.app(topology) as app:
        app.open()
        for lefts, rights in batches:
            for topic, records in ((LEFT, lefts), (RIGHT, rights)):
                bench.emit(topic, records)
                for record in records:
                    driver.write(topic, record.key, record.value, timestamp=record.timestamp)
            driver.run()
            app.drain()
            full = values(driver, FULL)
            assert full == expected("left", values(driver, LEFTS), values(driver, RIGHTS))
            for store in (LEFTS, RIGHTS, FULL, GROUPS):
                assert bench.store(topology, store) == driver.store_contents(store)
            with View(app, FULL) as view:
                assert {key: row[0] for key, row in view.items()} == full
            with View(app, ENTERED) as view:
                row = [key for key, value in values(driver, LEFTS).items() if value[:1] == "3"]
                assert sorted(key for key, _ in view.fetch("3")) == sorted(row)
        driver_results = [(record.key, record.value or "") for record in driver.read(OUT)]
    assert sorted(bench.records(OUT), key=str) == sorted(driver_results, key=str)
