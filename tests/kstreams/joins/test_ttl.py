"""Rows of tables expire; joins and counts treat an expiry as a change."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder, aggregate, timestamped_store
from kstreams.aggregators import count
from kstreams.durations import milliseconds
from kstreams.emit import each_update
from kstreams.joins import left, outer
from kstreams.stores import versioned_key_value_store
from kstreams.testing import TopologyTestDriver
from kstreams_rocksdb import RocksDB

USERS = Topic("users", TEXT, TEXT)
CLICKS = Topic("clicks", TEXT, INT64)
OUT = Topic("out", TEXT, TEXT, nulls="pass")
COUNTED = Topic("counted", TEXT, INT64, nulls="pass")
ROWS = timestamped_store("users", key=TEXT, value=TEXT)
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)
TTL = milliseconds(10)


def expiring(**options: Any) -> TopologyBuilder:
    builder = TopologyBuilder("t", **options)
    users = builder.add_table("users", USERS, store=ROWS, ttl=TTL)
    builder.add_sink("out", OUT, builder.to_stream("changes", users, emit=each_update()))
    return builder


def shown(driver: TopologyTestDriver) -> list[tuple[str, str | None, int]]:
    return [(row.key, row.value, row.timestamp) for row in driver.read(OUT)]


def test_row_expires_after_record_that_passes_its_time() -> None:
    with TopologyTestDriver(expiring().build()) as driver:
        driver.pipe(USERS, "a", "A", timestamp=0)
        driver.pipe(USERS, "b", "B", timestamp=9)
        assert shown(driver) == [("a", "A", 0), ("b", "B", 9)]
        driver.pipe(USERS, "c", "C", timestamp=10)
        assert shown(driver) == [("c", "C", 10), ("a", None, 10)]
        driver.pipe(USERS, "d", "D", timestamp=100)
        assert shown(driver) == [("d", "D", 100), ("b", None, 19), ("c", None, 20)]
        assert driver.store_contents(ROWS) == {"d": ("D", 100)}


def test_changed_row_expires_later_and_deleted_row_does_not_expire() -> None:
    with TopologyTestDriver(expiring().build()) as driver:
        driver.pipe(USERS, "a", "1", timestamp=0)
        driver.pipe(USERS, "a", "2", timestamp=5)
        driver.write_bytes("users", b"b", b"B", timestamp=5)
        driver.write_bytes("users", b"b", None, timestamp=6)
        driver.run()
        driver.pipe(USERS, "c", "C", timestamp=14)
        assert ("a", None, 15) not in shown(driver)
        driver.pipe(USERS, "c", "C", timestamp=15)
        assert shown(driver) == [("c", "C", 15), ("a", None, 15)]


def test_late_row_expires_immediately_and_update_with_earlier_time_expires_earlier() -> None:
    with TopologyTestDriver(expiring().build()) as driver:
        driver.pipe(USERS, "a", "A", timestamp=50)
        driver.pipe(USERS, "b", "B", timestamp=40)
        driver.pipe(USERS, "a", "older", timestamp=45)
        driver.pipe(USERS, "c", "C", timestamp=51)
        found = shown(driver)
        assert found == [
            ("a", "A", 50),
            ("b", "B", 40),
            ("a", "older", 45),
            ("c", "C", 51),
            ("b", None, 50),
        ]
        driver.pipe(USERS, "c", "C", timestamp=55)
        assert shown(driver) == [("c", "C", 55), ("a", None, 55)]


def test_expired_rows_change_results_of_joins_and_counts() -> None:
    """In other systems a count keeps rows that expired before it."""
    builder = TopologyBuilder("t")
    users = builder.add_table("users", USERS, store=ROWS, ttl=TTL)
    clicks = builder.add_source("clicks", CLICKS)
    counts = builder.aggregate_table("counts", aggregate(count(), store=COUNTS), clicks)
    both = builder.join_tables("both", users, counts, outer(lambda name, n: f"{name}:{n}"))
    builder.add_sink("out", OUT, builder.to_stream("changes", both, emit=each_update()))
    loud = builder.derive("loud", users, lambda _, name: name.upper())
    joined = builder.join_table("j", clicks, loud, left(lambda n, name: f"{n}{name}"))
    named = Topic("named", TEXT, TEXT)
    builder.add_sink("named", named, joined)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(USERS, "a", "ann", timestamp=0)
        driver.pipe(CLICKS, "a", 7, timestamp=5)
        driver.pipe(CLICKS, "b", 8, timestamp=10)
        driver.pipe(CLICKS, "a", 9, timestamp=11)
        assert [(row.key, row.value) for row in driver.read(OUT)] == [
            ("a", "ann:None"), ("a", "ann:1"), ("b", "None:1"), ("a", "None:1"), ("a", "None:2")
        ]  # fmt: skip
        assert [row.value for row in driver.read(named)] == ["7ANN", "8None", "9None"]


def test_count_of_expired_row_begins_at_zero() -> None:
    builder = TopologyBuilder("t")
    clicks = builder.add_source("clicks", CLICKS)
    counts = builder.aggregate_table("counts", aggregate(count(), store=COUNTS), clicks, ttl=TTL)
    builder.add_sink("out", COUNTED, builder.to_stream("changes", counts, emit=each_update()))
    with TopologyTestDriver(builder.build(), recreate_processors=True) as driver:
        for time in (0, 5, 14, 24, 25):
            driver.pipe(CLICKS, "a", 1, timestamp=time)
        values = [(row.value, row.timestamp) for row in driver.read(COUNTED)]
        assert values == [(1, 0), (2, 5), (3, 14), (4, 24), (5, 25)]
        driver.pipe(CLICKS, "b", 1, timestamp=35)
        driver.pipe(CLICKS, "a", 1, timestamp=36)
        rows = [(row.key, row.value, row.timestamp) for row in driver.read(COUNTED)]
        assert rows == [("b", 1, 35), ("a", None, 35), ("a", 1, 36)]


def test_versioned_table_records_expiry_of_row() -> None:
    history = versioned_key_value_store("users", key=TEXT, value=TEXT, retention=milliseconds(90))
    builder = TopologyBuilder("t")
    users = builder.add_table("users", USERS, store=history, ttl=TTL)
    joined = builder.join_table(
        "j", builder.add_source("clicks", CLICKS), users, left(lambda n, name: f"{n}{name}")
    )
    named = Topic("named", TEXT, TEXT)
    builder.add_sink("named", named, joined)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(USERS, "a", "A", timestamp=0)
        driver.pipe(USERS, "b", "B", timestamp=30)
        for time in (9, 10, 31):
            driver.pipe(CLICKS, "a", time, timestamp=time)
        assert [row.value for row in driver.read(named)] == ["9A", "10None", "31None"]


def test_idle_timeout_lets_rows_expire_without_records() -> None:
    builder = expiring(idle_timeout=milliseconds(100))
    with TopologyTestDriver(builder.build(), start=1_000) as driver:
        driver.pipe(USERS, "a", "A", timestamp=0)
        driver.advance_wall_clock(timedelta(milliseconds=200))
        assert shown(driver) == [("a", "A", 0), ("a", None, 10)]


@pytest.mark.parametrize("recreate", [False, True])
def test_expiry_does_not_depend_on_batch_boundaries(recreate: bool, tmp_path: Path) -> None:
    records = [Record(f"k{n % 7}", str(n), (n * 5) % 23 + n) for n in range(60)]
    found = []
    for size in (1, 7, 60):
        with TopologyTestDriver(
            expiring().build(),
            recreate_processors=recreate,
            state=RocksDB(),
            directory=tmp_path / str(size),
        ) as driver:
            for begin in range(0, len(records), size):
                driver.pipe_batch(USERS, records[begin : begin + size])
            found.append((shown(driver), driver.store_contents(ROWS)))
    assert found[0] == found[1] == found[2]


def test_rows_written_before_ttl_was_added_expire(tmp_path: Path) -> None:
    """The missing index is built from the rows once."""
    without = TopologyBuilder("t")
    users = without.add_table("users", USERS, store=ROWS)
    without.add_sink("out", OUT, without.to_stream("changes", users))
    with TopologyTestDriver(without.build()) as driver:
        driver.pipe(USERS, "a", "A", timestamp=0)
        rows = driver.store_contents(ROWS)
    with TopologyTestDriver(expiring().build()) as driver:
        for key, (value, time) in rows.items():
            driver.store(ROWS).put(key, value, time)
        driver.pipe(USERS, "b", "B", timestamp=20)
        assert shown(driver) == [("b", "B", 20), ("a", None, 10)]


@pytest.mark.parametrize("ttl", [timedelta(0), timedelta(seconds=-1), timedelta(microseconds=5)])
def test_ttl_must_be_positive(ttl: timedelta) -> None:
    with pytest.raises(ValueError, match="ttl"):
        TopologyBuilder("t").add_table("users", USERS, store=ROWS, ttl=ttl)


def test_ttl_index_has_no_more_rows_than_table() -> None:
    with TopologyTestDriver(expiring().build()) as driver:
        records = [Record(f"k{n % 5}", str(n), 1_000 + n) for n in range(500)]
        for begin in range(0, 500, 10):
            driver.pipe_batch(USERS, records[begin : begin + 10])
        (index,) = [spec for spec in driver.topology.stores if spec.name == "users-expiry"]
        untyped: Any = index
        assert len(driver.store_contents(untyped)) <= 5 + 1
