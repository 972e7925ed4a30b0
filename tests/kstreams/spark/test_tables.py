"""Tables on Spark: joins are exact at each commit, and rows expire."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kstreams import TEXT, Record, Topic, Topology, TopologyBuilder, View, timestamped_store
from kstreams.aggregators import count
from kstreams.app import BatchReport
from kstreams.durations import milliseconds
from kstreams.emit import each_update
from kstreams.joins import outer
from kstreams.serde.numbers import INT64
from kstreams.testing import TopologyTestDriver
from kstreams_rocksdb import RocksDB
from tests.support.spark.bench import Bench

pytestmark = pytest.mark.spark

LEFT, RIGHT = Topic("left", TEXT, TEXT, nulls="pass"), Topic("right", TEXT, TEXT, nulls="pass")
OUT = Topic("out", TEXT, TEXT, nulls="pass")
LEFTS = timestamped_store("lefts", key=TEXT, value=TEXT)
RIGHTS = timestamped_store("rights", key=TEXT, value=TEXT)
BOTH = timestamped_store("both", key=TEXT, value=TEXT)
SIZES = timestamped_store("sizes", key=TEXT, value=INT64)
STORES: tuple[Any, ...] = (LEFTS, RIGHTS, BOTH, SIZES)
KEYS = [f"k{number}" for number in range(24)]
TTL = 40

Writes = list[tuple[Topic[str, str | None], Record[str, str | None]]]


def pair(one: str | None, other: str | None) -> str:
    return f"{one}+{other}"


def joined() -> Topology:
    """Return a topology: two tables (one with time to live), their join, counts of right values."""
    builder = TopologyBuilder("t")
    lefts = builder.add_table("lefts", LEFT, store=LEFTS, ttl=milliseconds(TTL))
    rights = builder.add_table("rights", RIGHT, store=RIGHTS)
    both = builder.join_tables("both", lefts, rights, outer(pair), store=BOTH)
    builder.add_sink("out", OUT, builder.to_stream("each", both, emit=each_update()))
    builder.regroup("sizes", both, lambda _, v: v.partition("+")[2], count(), store=SIZES)
    return builder.build()


def writes(number: int) -> Writes:
    """Return a batch: most rows change, some are deleted, some left rows stay until they expire."""
    found: Writes = []
    for place, key in enumerate(KEYS):
        time = 25 * number + place
        if (place + number) % 3:
            gone = (place + number) % 7 == 0
            found.append((LEFT, Record(key, None if gone else f"l{number}", time)))
        if (place + number) % 4 == 0:
            gone = (place + number) % 8 == 0
            found.append((RIGHT, Record(key, None if gone else f"r{place % 3}", time)))
    return found


def contents(checkpoint: Path) -> list[dict[Any, Any]]:
    """Return the contents of both tables, the join and the counts, as seen by views."""
    found: list[dict[Any, Any]] = []
    for store in STORES:
        with View(checkpoint, store) as view:
            found.append({key: row[0] for key, row in view.items()})
    return found


def test_tables_are_consistent_at_each_commit_and_rows_expire_as_on_test_driver(
    bench: Bench,
) -> None:
    """The app is restarted half-way on another machine; earlier rows expire after later records."""
    topology = joined()
    looked: list[str] = []

    def look(_: BatchReport) -> None:
        lefts, rights, both, sizes = contents(bench.checkpoint)
        expected = {k: pair(lefts.get(k), rights.get(k)) for k in {*lefts, *rights}}
        sized = Counter(value.partition("+")[2] for value in expected.values())
        fits = both == expected and sizes == sized
        looked.append("" if fits else f"{both} {sizes}, not {expected} {sized}")

    bench.create(LEFT, RIGHT)
    with TopologyTestDriver(topology, partitions=2) as driver:
        for half in (range(4), range(4, 8)):
            for topic, record in (each for number in half for each in writes(number)):
                bench.emit(topic, [record])
                driver.write(topic, record.key, record.value, timestamp=record.timestamp)
            driver.run()
            state = RocksDB(directory=str(bench.home / f"machine-{half.start}"))
            bench.run(topology, state=state, max_records_per_batch=25, on_batch=look)
        assert len(looked) > 8
        assert set(looked) == {""}
        for store in STORES[:3]:  # intermediate results of groups depend on the cuts
            assert bench.store(topology, store) == driver.store_contents(store)
        driver_rows = [(row.key, row.value, row.timestamp) for row in driver.read(OUT)]
    found = [
        (
            (row.key or b"").decode(),
            None if row.value is None else row.value.decode(),
            row.timestamp,
        )
        for row in bench.raw(OUT)
    ]
    for key in KEYS:
        assert [row for row in found if row[0] == key] == [
            row for row in driver_rows if row[0] == key
        ]
    written = {record.timestamp for number in range(8) for _, record in writes(number)}
    expired = [row for row in driver_rows if row[2] - TTL in written and row[2] not in written]
    assert len(expired) > 4  # otherwise the test has no effect
