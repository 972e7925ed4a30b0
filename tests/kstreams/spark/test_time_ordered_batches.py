"""On Spark, a backlog of several topics is merged by time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kstreams import TEXT, Record, Topic, Topology, TopologyBuilder, timestamped_store
from kstreams.joins import left
from tests.support.spark.bench import Bench

pytestmark = pytest.mark.spark

USERS, CLICKS = Topic("users", TEXT, TEXT), Topic("clicks", TEXT, TEXT)
NAMED = Topic("named", TEXT, TEXT)
ROWS = timestamped_store("rows", key=TEXT, value=TEXT)
MOST = 250


def stated_time(record: Record[Any, str]) -> int:
    return int(record.value.split("@")[1])


def named(own_times: bool) -> Topology:
    # a run to the end does not hold back young records
    builder = TopologyBuilder("in-time", settle=timedelta(days=1))
    users = builder.add_table("users", USERS, store=ROWS)
    clicks = builder.add_source("clicks", CLICKS, event_time=stated_time if own_times else None)
    joined = builder.join_table("named", clicks, users, left(lambda click, user: f"{user} {click}"))
    builder.add_sink("out", NAMED, joined)
    return builder.build()


@pytest.mark.parametrize("own_times", [False, True], ids=["topic's time", "own time"])
def test_each_record_of_backlog_is_joined_with_latest_older_row(
    bench: Bench, own_times: bool
) -> None:
    bench.create(USERS, CLICKS, NAMED)
    keys, now = [f"k{n}" for n in range(50)], 1_700_000_000_000
    rows = [
        Record(key, f"{version}", now + version * 1_000) for version in range(9) for key in keys
    ]
    times = [now + 500 + n * 10 for n in range(1_200)]
    clicks = [
        Record(keys[n % 50], f"@{time}", now - n if own_times else time)
        for n, time in enumerate(times)
    ]
    bench.emit(USERS, rows)  # at once, long before the clicks
    bench.emit(CLICKS, clicks[:900])
    bench.run(named(own_times), max_records_per_batch=MOST)
    bench.emit(CLICKS, clicks[900:])  # after a restart, with the table at its end
    bench.run(named(own_times), max_records_per_batch=MOST)
    found = {tuple(value.split(" ")) for _, value in bench.records(NAMED)}
    assert found == {(str(min((time - now) // 1_000, 8)), f"@{time}") for time in times}
    assert max(report.source_records for report in bench.reports) <= MOST
    assert sum(report.source_records for report in bench.reports) == len(rows) + len(clicks)
